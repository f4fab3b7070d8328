import type { Cached } from "./sorted-objects.ts";

/** What happened to a key of a cache. */
export type CacheEvent<T extends Cached> =
  | {
      readonly type: "put";
      readonly key: string;
      readonly revision: number;
      readonly object: T;
      /** Undefined when the key is new. */
      readonly previous: T | undefined;
    }
  | { readonly type: "delete"; readonly key: string; readonly revision: number; readonly previous: T };
