import { LongWork } from "../../scheduling/long-work.ts";
import { ApiError, badRequest, expired, requestCanceled } from "../../api/api-error.ts";
import type { SizedIterable } from "../../api/sized-iterable.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { UserInfo } from "../../api/user-info.ts";
import { RevisionCompacted, RevisionInFuture } from "../../storage/store.ts";
import { decodeContinueToken, encodeContinueToken, startKeyOutsideList } from "./continue-token.ts";
import type { ContinuePoint } from "./continue-token.ts";
import type { ListOptions } from "./list-options.ts";
import type { Waiter } from "../caller.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { parseResourceVersion } from "../resource-version.ts";
import { resourcePrefix } from "../stored/storage-key.ts";
import { readFailure } from "../stored/store-failures.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { isTooLongKey } from "../../storage/check-key.ts";
import type { KeyRange } from "../../storage/key-range.ts";
import { keyAfter, inKeyRange } from "../../storage/key-range.ts";

/** A list, or one page of it. Items are in key order: by namespace, then by name. */
export interface ObjectList<T extends ApiObject> {
  readonly items: SizedIterable<StoredObject<T>>;
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly continueToken: string;
  /** The number of items after the page. Undefined when it is unknown. */
  readonly remainingItemCount?: number;
}

interface WaitingListOptions<T extends ApiObject> extends ListOptions<T> {
  /** The caller, who may have to wait for the newest objects, and for the turns of a long selection. */
  readonly waiter?: Waiter;
  /** The user who takes turns with others when many objects are selected. */
  readonly user?: UserInfo;
}

/**
 * Lists objects like upstream's storage: at the latest revision, at a given revision or later, or exactly at a
 * revision. All pages show the revision of the first page. Throws a 400; a 410 for a revision that was compacted; a 504
 * for a revision that is not reached in time.
 */
export async function listObjects<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  options: WaitingListOptions<T>,
): Promise<ObjectList<T>> {
  const { waiter, selector, resourceVersion, resourceVersionMatch: match, limit } = options;
  // Version 0 asks for the objects in memory, without a limit (upstream: `computeListLimit`).
  const isWhole = resourceVersion === "0" && registry.definition.isReadFromStorage !== true;
  const limited = isWhole ? { ...options, limit: 0 } : options;
  const preparing = selector.lookup && registry.cache.prepareLookUp(selector.lookup);
  if (preparing !== undefined) await preparing; // before the revision is chosen
  if (options.continueToken !== "") return nextPage(registry, limited);
  const revision = parseResourceVersion(resourceVersion);
  // A limit together with a version means exactly that version, except for a list of one name (upstream: `Recursive`). This rule is older
  // than the parameter resourceVersionMatch.
  const isExact = revision > 0 && (match === "Exact" || (match === "" && limit > 0 && !selector.isOneKey));
  if (isExact) return listAt(registry, { revision, range: selector.range, options });

  // An exact match of "00", which is 0, means the newest state, as in upstream's storage (upstream refuses only the text "0").
  if (resourceVersion === "" || match === "Exact") await registry.waitForFreshCache(waiter);
  else if (registry.cache.revision < revision) await registry.waitForRevision(revision);
  return listCached(registry, { range: selector.range, options: limited });
}

interface PageRequest<T extends ApiObject> {
  readonly range: KeyRange;
  readonly options: WaitingListOptions<T>;
}

async function nextPage<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  options: WaitingListOptions<T>,
): Promise<ObjectList<T>> {
  const point = decodeContinueToken(options.continueToken);
  if (options.resourceVersion !== "" && options.resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const { start, end } = options.selector.range;
  const next = resourcePrefix(registry.definition) + point.start;
  if (isTooLongKey(next)) throw badRequest("invalid continue token: the start key is longer than any key");
  // A token from another list must not leave this list's range, nor skip objects of this list.
  if (!inKeyRange({ start, end })(next) || !isAfterKey(registry.definition, point.start)) throw startKeyOutsideList();
  const range = { start: next, end };
  if (point.revision === -1) {
    await registry.waitForFreshCache(options.waiter);
    return listCached(registry, { range, options });
  }
  try {
    return await listAt(registry, { revision: point.revision, range, options });
  } catch (error) {
    if (error instanceof ApiError && error.code === 410) throw expiredPage(point);
    throw error;
  }
}

/** Whether a start comes directly after a possible key of the resource. Every page except the first starts so. */
const isAfterKey = ({ scope }: { readonly scope: "Namespaced" | "Cluster" }, start: string): boolean =>
  (scope === "Cluster" ? /^[^/]+\0$/ : /^[^/]+\/[^/]+\0$/).test(start);

/** Lists the objects at the cache's revision. */
const listCached = <T extends ApiObject>(
  registry: ResourceRegistry<T>,
  request: PageRequest<T>,
): Promise<ObjectList<T>> => listAt(registry, { ...request, revision: registry.cache.revision });

/** Lists the objects at a revision: from the cache as far as its history reaches back, otherwise from the store. */
async function listAt<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  request: PageRequest<T> & { readonly revision: number },
): Promise<ObjectList<T>> {
  const {
    revision,
    range,
    options: { selector, limit },
  } = request;
  const { cache } = registry;
  await registry.waitForRevision(revision);
  if (cache.revision === revision && limit <= 0 && selector.isEmpty) {
    return { items: cache.snapshot(range), resourceVersion: String(revision), continueToken: "" };
  }
  try {
    // Refuse also a compacted revision that this cache still has: the histories of replicas and workers differ, but their answers must not.
    const compacted = cache.revision === revision ? 0 : await registry.store.compactedRevision();
    if (revision < compacted) throw new RevisionCompacted(compacted);
    await cache.prepareHistory(revision);
    return await page(registry, { ...request, parts: keptAt(registry, request) ?? storedAt(registry, request) });
  } catch (error) {
    if (error instanceof RevisionCompacted) {
      throw expired("The resourceVersion for the provided list is too old.");
    }
    if (error instanceof RevisionInFuture) {
      throw registry.tooLargeVersion({ wanted: revision, current: error.latestRevision });
    }
    throw readFailure(error);
  }
}

/** Objects in key order, in parts. */
type Parts<T extends ApiObject> = Iterable<Iterable<StoredObject<T>>> | AsyncIterable<Iterable<StoredObject<T>>>;

/** The cache's objects at a revision: all that the options select, and perhaps more. Undefined: the history does not reach back so far. */
function keptAt<T extends ApiObject>(
  { cache }: ResourceRegistry<T>,
  { revision, range, options: { selector, limit } }: PageRequest<T> & { readonly revision: number },
): Parts<T> | undefined {
  // With a selector, it is not known how many keys fill a page.
  const wanted = selector.isEmpty && limit > 0 ? limit + 1 : 0;
  const objects = cache.objectsAt(revision, { ...range, lookup: selector.lookup, limit: wanted });
  return objects && [objects];
}

/** How much is read from the store in one turn of the event loop. */
const storedPart = { limit: 500, maximumBytes: 4 * 2 ** 20 };

async function* storedAt<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { revision, range: { start, end } }: { readonly revision: number; readonly range: KeyRange },
): AsyncIterable<Iterable<StoredObject<T>>> {
  for (let from = start; ;) {
    const { objects, hasMore } = await registry.readStored({ start: from, end, revision, ...storedPart });
    yield objects;
    const last = objects.at(-1);
    if (!hasMore || last === undefined) return;
    from = keyAfter(last.key);
  }
}

interface Found<T extends ApiObject> extends PageRequest<T> {
  readonly parts: Parts<T>;
  readonly revision: number;
}

/**
 * Selects the objects of a page, in several turns of the event loop. A StoredObject never changes, so writes in between do not matter.
 * Rejects when the client does not wait any more.
 */
async function page<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { parts, revision, range, options: { selector, limit, user, waiter } }: Found<T>,
): Promise<ObjectList<T>> {
  const items: StoredObject<T>[] = [];
  let next = range.start;
  const cutOff = (remainingItemCount?: number): ObjectList<T> => ({
    items,
    resourceVersion: String(revision),
    continueToken: encodeContinueToken({ revision, start: next.slice(resourcePrefix(registry.definition).length) }),
    ...(remainingItemCount !== undefined && { remainingItemCount }),
  });
  const work = new LongWork(user);
  let remaining = 0;
  for await (const part of parts) {
    for (const stored of part) {
      const pause = work.pause();
      if (pause !== undefined) {
        await pause;
        if (waiter?.signal.aborted === true) throw requestCanceled();
      }
      if (limit <= 0 || items.length < limit) {
        next = keyAfter(stored.key);
        if (selector.matches(stored)) items.push(stored);
        continue;
      }
      if (!selector.isEmpty) return cutOff();
      const known = remaining === 0 ? registry.cache.countAt({ start: next, end: range.end }, revision) : undefined;
      if (known !== undefined) return cutOff(known);
      remaining += 1; // counted one by one, because the history does not reach back so far
    }
  }
  return remaining > 0 ? cutOff(remaining) : { items, resourceVersion: String(revision), continueToken: "" };
}

/** The 410 for a page whose revision was compacted. With the token in this error, the client can continue at the latest revision. */
const expiredPage = ({ start }: ContinuePoint): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message:
      "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
      "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
      "results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
      "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    continueToken: encodeContinueToken({ revision: -1, start }),
  });
