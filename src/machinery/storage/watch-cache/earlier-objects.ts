import { byteOrdered } from "../byte-ordered.ts";
import type { Cached } from "./sorted-objects.ts";

interface EarlierObjectsOptions<T extends Cached> {
  /** The objects as they are now, in the order of their keys. */
  readonly now: Iterable<T>;
  /** The earlier objects of the keys that were written since. Undefined: the key did not exist. */
  readonly before: ReadonlyMap<string, T | undefined>;
}

/** The objects as they were before some keys were written, in the order of their keys. */
export function* earlierObjects<T extends Cached>({ now, before }: EarlierObjectsOptions<T>): IterableIterator<T> {
  const restored = [...before]
    .flatMap(([key, object]) => (object === undefined ? [] : [{ ordered: byteOrdered(key), object }]))
    .sort((a, b) => (a.ordered < b.ordered ? -1 : 1));
  let next = 0;
  for (const object of now) {
    const { key } = object;
    const ordered = byteOrdered(key);
    for (let one = restored[next]; one !== undefined && one.ordered < ordered; one = restored[next]) {
      next += 1;
      yield one.object;
    }
    if (!before.has(key)) yield object;
  }
  for (const { object } of restored.slice(next)) yield object;
}
