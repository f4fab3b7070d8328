import type { ApiObject } from "../api/object-meta.ts";
import type { CountedSizes } from "../storage/watch-cache/counted-objects.ts";
import type { WatchCache } from "../storage/watch-cache/watch-cache.ts";
import type { ResourceDefinition } from "./definition/resource-definition.ts";
import { quotaGroupOfUser } from "./storage-quota.ts";
import type { Growth, StorageQuota } from "./storage-quota.ts";
import { namespaceReader } from "./stored/storage-key.ts";
import type { StoredObject } from "./stored/stored-object.ts";

/** Returns the quota group of an object. Reads `object` only if the key does not tell the group: for a stored object that decodes it. */
type GroupOf<T extends ApiObject> = (of: Pick<StoredObject<T>, "key" | "object">) => string;

export interface KindQuotaOptions<T extends ApiObject> {
  readonly definition: ResourceDefinition<T>;
  readonly quota: StorageQuota;
  /** The cache, which must have the sizes of `countedSizes`. */
  readonly cache: () => WatchCache<StoredObject<T>>;
}

/** Applies the StorageQuota to the objects of one kind. */
export class KindQuota<T extends ApiObject> {
  readonly #quota: StorageQuota;
  readonly #kind: Growth["kind"];
  readonly #groupOf: GroupOf<T> | undefined;

  constructor({ definition, quota, cache }: KindQuotaOptions<T>) {
    this.#quota = quota;
    this.#kind = { share: definition.quotaShare ?? 1, current: () => cache().sizes };
    this.#groupOf = groupReader(definition);
    if (this.#groupOf !== undefined) quota.add(this.#kind);
  }

  /** Throws a 403 when the quota of the object's namespace or user has no room for so many more bytes. */
  requireRoom(object: T, write: Pick<Growth, "key" | "user" | "bytes" | "resource">): Growth | undefined {
    const { key, user, bytes, resource } = write;
    if (this.#groupOf === undefined || bytes <= 0) return undefined;
    const { name = "" } = object.metadata;
    const growth = { group: this.#groupOf({ key, object }), key, name, user, resource, kind: this.#kind, bytes };
    this.#quota.requireRoom(growth);
    return growth;
  }
}

/** How the cache of a kind counts its objects for the quota. Undefined: the quota does not count the kind. */
export function countedSizes<T extends ApiObject>(
  definition: ResourceDefinition<T>,
): CountedSizes<StoredObject<T>> | undefined {
  const groupOf = groupReader(definition);
  const storedBytesOf = (object: StoredObject<T>): number => object.storedBytes || object.loadText().storedBytes;
  return groupOf && { groupOf, groupOfKey: keyReader(definition), storedBytesOf };
}

function groupReader<T extends ApiObject>(definition: ResourceDefinition<T>): GroupOf<T> | undefined {
  const groupOfKey = keyReader(definition);
  if (groupOfKey !== undefined) return ({ key }) => groupOfKey(key);
  const { quotaUserOf } = definition;
  if (quotaUserOf === undefined) return undefined;
  return (of) => {
    try {
      return quotaGroupOfUser(quotaUserOf(of.object));
    } catch {
      // A damaged object counts for no user. This must not throw, so that the cache still counts other objects and applies their changes.
      return quotaGroupOfUser("");
    }
  };
}

const keyReader = <T extends ApiObject>(definition: ResourceDefinition<T>): ((key: string) => string) | undefined =>
  definition.scope === "Namespaced" ? namespaceReader(definition) : undefined;
