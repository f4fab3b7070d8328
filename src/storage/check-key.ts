/** LMDB's longest key with pages of 4 KiB. */
const MAX_KEY_BYTES = 1978;

/** Throws for a key that no backend can hold: empty, too long, or without a UTF-8 form. */
export function checkKey(key: string): void {
  if (key === "") throw new Error("a key must not be empty");
  if (!key.isWellFormed()) throw new Error("a key must be well-formed Unicode");
  if (key.length > MAX_KEY_BYTES / 3 && Buffer.byteLength(key) > MAX_KEY_BYTES) {
    throw new Error(`a key must be at most ${MAX_KEY_BYTES} bytes`);
  }
}
