import { ApiError, requestCanceled } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import type { Caller } from "../caller.ts";
import { deleteObject } from "./delete-object.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { listObjects } from "../reads/list-objects.ts";
import type { ObjectList } from "../reads/list-objects.ts";
import type { ListOptions } from "../reads/list-options.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { nameOfKey } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";

interface DeleteCollectionRequest<T extends ApiObject> {
  readonly list: ListOptions<T>;
  readonly options: DeleteOptions;
  readonly caller: Caller;
  /** Throws when the client's credential was revoked since the request began. Then the remaining objects stay. */
  readonly refuseRevoked: () => void;
}

/**
 * The match of a deletion's list. A version without a match and a limit means exactly that version: upstream reads the collection in
 * pages, and a page with a version means exactly that version. It reads no pages for one name and for a negative limit.
 */
function versionMatch<T extends ApiObject>(list: ListOptions<T>): ListOptions<T>["resourceVersionMatch"] {
  const { resourceVersion, resourceVersionMatch: match, limit, selector } = list;
  const isPaged = limit === 0 && !selector.isOneKey;
  return match === "" && resourceVersion !== "" && resourceVersion !== "0" && isPaged ? "Exact" : match;
}

/** How many deletions wait for the store at the same time: durable writes share a flush. */
const parallelDeletions = 64;

/**
 * Deletes every object of a list, or of one page, and returns the objects as they were. An object that does not exist any more
 * is not an error. The first object that must not be deleted ends the deletion: later objects stay, as in upstream.
 */
export async function deleteCollection<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { list, options, caller, refuseRevoked }: DeleteCollectionRequest<T>,
): Promise<ObjectList<T>> {
  const { user } = caller;
  const resourceVersionMatch = versionMatch(list);
  const deleted = await listObjects(registry, { ...list, resourceVersionMatch, waiter: caller, user });
  const work = new LongWork(user);
  await work.each(deleted.items, (stored) => {
    // Reading an unreadable object throws. As in upstream, nothing is deleted when one object of the list can't be read.
    if (stored.unreadable !== undefined) void stored.object;
  });
  /** Resolves when all objects up to the current one may be deleted. */
  let allowed = Promise.resolve();
  const deleteOne = async ({ key }: StoredObject<T>): Promise<void> => {
    const { namespace, name } = nameOfKey(registry.definition, key);
    const allowedBefore = allowed;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // no deletion waits for the last promise
    allowed = promise;
    const beforeWrite = (): Promise<void> => {
      resolve(allowedBefore);
      return allowedBefore;
    };
    try {
      await deleteObject(registry, { namespace, name, options, caller, beforeWrite });
    } catch (error) {
      const isGone = error instanceof ApiError && error.code === 404;
      if (!isGone) {
        reject(error);
        throw error;
      }
      resolve(allowedBefore);
    }
  };
  const rest = deleted.items[Symbol.iterator]();
  for (let items = nextOf(rest); items.length > 0; items = nextOf(rest)) {
    // A dry run never waits for the store, so it has to pause by itself.
    const pause = work.pause();
    if (pause !== undefined) await pause;
    if (caller.signal.aborted) throw requestCanceled();
    refuseRevoked();
    const results = await Promise.allSettled(items.map(deleteOne));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
  return deleted;
}

/** The next items, which are deleted at the same time. */
function nextOf<T>(rest: Iterator<T>): T[] {
  const items: T[] = [];
  while (items.length < parallelDeletions) {
    const next = rest.next();
    if (next.done === true) break;
    items.push(next.value);
  }
  return items;
}
