/**
 * Converts a key so that JavaScript's `<` orders it by its UTF-8 bytes (the order of LMDB and etcd). UTF-16 sorts
 * astral characters (surrogates, D800 to DFFF) before E000 to FFFF, UTF-8 sorts them after: this swaps the two blocks.
 * Most keys contain neither and are returned unchanged.
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
