/**
 * A form of a key that JavaScript's `<` orders as the UTF-8 bytes of the key (the order of LMDB and etcd). UTF-16 puts
 * astral characters (surrogates, D800 to DFFF) before E000 to FFFF, UTF-8 behind: this swaps the two blocks. Most keys
 * have neither and come back as they are.
 */
export function byteOrdered(key: string): string {
  if (!/[\ud800-\uffff]/.test(key)) return key;
  let ordered = "";
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    ordered += String.fromCharCode(unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
  }
  return ordered;
}
