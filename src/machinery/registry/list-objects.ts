import { ApiError, badRequest, expired } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { byteOrdered } from "../storage/byte-order.ts";
import { isTooLongKey } from "../storage/check-key.ts";
import { RevisionCompacted, RevisionInFuture } from "../storage/store.ts";
import type { KeyRange } from "../storage/watch-cache.ts";
import { decodeContinue, encodeContinue, foreignToken } from "./continue-token.ts";
import type { ContinuePoint } from "./continue-token.ts";
import type { ListOptions } from "./list-options.ts";
import type { ObjectSelector } from "./object-selector.ts";
import type { Asker, ResourceRegistry } from "./resource-registry.ts";
import { parseResourceVersion, tooLargeResourceVersion } from "./resource-version.ts";
import { resourcePrefix } from "./storage-key.ts";
import type { StoredObject } from "./stored-object.ts";

/** A list, or one page of it. Its items are in the order of their keys: by namespace, then by name. */
export interface ObjectList<T extends ApiObject> {
  readonly items: readonly StoredObject<T>[];
  readonly resourceVersion: string;
  /** "" on the last page. */
  readonly continueToken: string;
  /** How many items follow the page; undefined when that is not known. */
  readonly remainingItemCount?: number;
}

/**
 * Lists as upstream's storage does: at the latest revision, at least at a given one, or exactly at one. Pages show the
 * revision of the first page. Throws 400; 410 for a revision that is forgotten; 504 for one that does not come.
 */
export async function listObjects<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  options: ListOptions<T>,
  asker?: Asker,
): Promise<ObjectList<T>> {
  const { selector, resourceVersion, resourceVersionMatch: match, limit } = options;
  if (options.continueToken !== "") return nextPage(registry, options, asker);
  const revision = parseResourceVersion(resourceVersion);
  // A limit with a version has meant that very version since before there was a match parameter.
  const isExact = match === "Exact" || (match === "" && limit > 0 && revision > 0);
  if (isExact) return listAt(registry, { revision, range: selector.range, options });

  if (resourceVersion === "") await registry.catchUp(asker);
  else if (registry.cache.revision < revision) await registry.waitForRevision(revision);
  return listCached(registry, { range: selector.range, options });
}

interface PageRequest<T extends ApiObject> {
  readonly range: KeyRange;
  readonly options: ListOptions<T>;
}

async function nextPage<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  options: ListOptions<T>,
  asker: Asker | undefined,
): Promise<ObjectList<T>> {
  const point = decodeContinue(options.continueToken);
  if (options.resourceVersion !== "" && options.resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const { start, end } = options.selector.range;
  const next = resourcePrefix(registry.definition) + point.start;
  if (isTooLongKey(next)) throw badRequest("invalid continue token: the start key is longer than any key");
  // A token of another list must not lead out of this one, nor skip what this one would show.
  const at = byteOrdered(next);
  const isOfRange = at >= byteOrdered(start) && at < byteOrdered(end);
  if (!isOfRange || !isAfterKey(registry.definition, point.start)) throw foreignToken();
  const range = { start: next, end };
  if (point.revision === -1) {
    await registry.catchUp(asker);
    return listCached(registry, { range, options });
  }
  try {
    return await listAt(registry, { revision: point.revision, range, options });
  } catch (error) {
    if (error instanceof ApiError && error.code === 410) throw expiredPage(point);
    throw error;
  }
}

/** Whether a start follows what may be a key of the resource: that is where every page but the first begins. */
const isAfterKey = ({ scope }: { readonly scope: "Namespaced" | "Cluster" }, start: string): boolean =>
  (scope === "Cluster" ? /^[^/]+\0$/ : /^[^/]+\/[^/]+\0$/).test(start);

/** The objects of the copy in memory as they are now. */
function listCached<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { range, options: { selector, limit } }: PageRequest<T>,
): ObjectList<T> {
  const { cache } = registry;
  const { revision } = cache;
  if (limit === 0) {
    const all = cache.range(range);
    const items = selector.isEmpty ? all : all.filter((stored) => selector.matches(stored));
    return { items, resourceVersion: String(revision), continueToken: "" };
  }
  // With a selector there is no telling how many keys a page takes.
  const found = cache.range(selector.isEmpty ? { ...range, limit: limit + 1 } : range);
  return page(registry, { found, isWhole: !selector.isEmpty, revision, selector, limit, range });
}

/** The objects as they were at a revision: from memory when nothing has been written since, else from the store. */
async function listAt<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { revision, range, options }: PageRequest<T> & { readonly revision: number },
): Promise<ObjectList<T>> {
  const { selector, limit } = options;
  await registry.waitForRevision(revision);
  if (registry.cache.revision === revision) return listCached(registry, { range, options });
  // What follows a page is counted from the kept history; where that does not reach back, the store shows it all.
  const isCountable = revision >= registry.cache.oldestRevision;
  const storeLimit: { readonly limit?: number } =
    limit > 0 && selector.isEmpty && isCountable ? { limit: limit + 1 } : {};
  try {
    const { entries } = await registry.store.range({ ...range, revision, ...storeLimit });
    const found = entries.map((entry) => registry.fromEntry(entry));
    return page(registry, { found, isWhole: storeLimit.limit === undefined, revision, selector, limit, range });
  } catch (error) {
    if (error instanceof RevisionCompacted) {
      throw expired("The provided resource version is too old: it is no longer kept. Start a new list without it.");
    }
    if (error instanceof RevisionInFuture) {
      throw tooLargeResourceVersion({ wanted: revision, current: error.latestRevision });
    }
    throw error;
  }
}

interface Found<T extends ApiObject> {
  /** More than a page when there is more. */
  readonly found: readonly StoredObject<T>[];
  /** Whether `found` is all that the range held at the revision. */
  readonly isWhole: boolean;
  readonly revision: number;
  readonly selector: ObjectSelector<T>;
  readonly limit: number;
  readonly range: KeyRange;
}

function page<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { found, isWhole, revision, selector, limit, range }: Found<T>,
): ObjectList<T> {
  const items: StoredObject<T>[] = [];
  const resourceVersion = String(revision);
  for (const [index, stored] of found.entries()) {
    if (selector.matches(stored)) items.push(stored);
    if (limit === 0 || items.length < limit) continue;
    if (index === found.length - 1) break;
    const next = `${stored.key}\0`;
    const start = next.slice(resourcePrefix(registry.definition).length);
    const remainingItemCount = selector.isEmpty
      ? isWhole
        ? found.length - index - 1
        : registry.cache.countAt({ start: next, end: range.end }, revision)
      : undefined;
    return {
      items,
      resourceVersion,
      continueToken: encodeContinue({ revision, start }),
      ...(remainingItemCount !== undefined && { remainingItemCount }),
    };
  }
  return { items, resourceVersion, continueToken: "" };
}

/** The rest can still be had from the latest revision, and the answer carries the token for it. */
const expiredPage = ({ start }: ContinuePoint): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message:
      "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
      "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
      "results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
      "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    continueToken: encodeContinue({ revision: -1, start }),
  });
