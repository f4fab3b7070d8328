import { byteOrdered } from "./byte-ordered.ts";

/** Keys in `[start, end)`, in UTF-8 byte order. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

/** Returns the next possible key in key order. Ranges and pages may start and end there, so backends must accept it. */
export const keyAfter = (key: string): string => `${key}\0`;

export const singleKeyRange = (key: string): KeyRange => ({ start: key, end: keyAfter(key) });

/** The range of all keys of a store: each begins with a slash. */
export const everyKey: KeyRange = { start: "/", end: "0" };

/** All keys with a prefix. */
export const prefixRange = (prefix: string): KeyRange => ({ start: prefix, end: prefixEnd(prefix) });

/** The end of the range of all keys with a prefix, computed like etcd's clients do. */
export function prefixEnd(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

/** Returns a function that says whether a key is in the range. */
export function inKeyRange({ start, end }: KeyRange): (key: string) => boolean {
  const [first, last] = [byteOrdered(start), byteOrdered(end)];
  return (key) => {
    const ordered = byteOrdered(key);
    return ordered >= first && ordered < last;
  };
}
