/** The longest key of LMDB with pages of 4 KiB. */
export const maximumKeyBytes = 1978;

/** Throws for a key that some backend cannot store: empty, too long, or not valid Unicode. */
export function checkKey(key: string): void {
  if (key === "") throw new Error("a key must not be empty");
  if (!key.isWellFormed()) throw new Error("a key must be well-formed Unicode");
  if (isTooLongKey(key)) throw new Error(`a key must be at most ${maximumKeyBytes} bytes`);
}

/** As `checkKey`, for the keys of one transaction. Throws also when two of them are the same. */
export function checkKeys(requests: readonly { readonly key: string }[]): void {
  for (const { key } of requests) checkKey(key);
  if (requests.length > 1 && new Set(requests.map(({ key }) => key)).size < requests.length) {
    throw new Error("a transaction must not write a key twice");
  }
}

export const isTooLongKey = (key: string): boolean =>
  key.length > maximumKeyBytes / 3 && Buffer.byteLength(key) > maximumKeyBytes;
