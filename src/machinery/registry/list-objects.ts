import { LongWork } from "../api/long-work.ts";
import { ApiError, badRequest, expired } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { byteOrdered } from "../storage/sorted-map.ts";
import { isTooLongKey, RevisionCompacted, RevisionInFuture, StoreUnavailable } from "../storage/store.ts";
import type { Items } from "../storage/snapshot.ts";
import type { KeyRange } from "../storage/watch-cache.ts";
import type { ListOptions } from "./list-options.ts";
import type { ObjectSelector } from "./object-selector.ts";
import { unreadableStore } from "./resource-registry.ts";
import type { Waiter, ResourceRegistry } from "./resource-registry.ts";
import { parseResourceVersion, tooLargeResourceVersion } from "./resource-version.ts";
import { resourcePrefix } from "./storage-key.ts";
import type { StoredObject } from "./stored-object.ts";
import { JsonSyntaxError, parseJsonBytes } from "../schema/parse-json.ts";

/** A list, or one page of it. Items are in key order: by namespace, then by name. */
export interface ObjectList<T extends ApiObject> {
  readonly items: Items<StoredObject<T>>;
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly continueToken: string;
  /** The number of items after the page. Undefined when it is unknown. */
  readonly remainingItemCount?: number;
}

/**
 * Lists objects like upstream's storage: at the latest revision, at a given revision or later, or exactly at a
 * revision. All pages show the revision of the first page. Throws a 400; a 410 for a revision that was compacted; a 504
 * for a revision that is not reached in time.
 */
export async function listObjects<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  options: ListOptions<T>,
  waiter?: Waiter,
): Promise<ObjectList<T>> {
  const { selector, resourceVersion, resourceVersionMatch: match, limit } = options;
  const preparing = selector.lookup && registry.cache.prepareLookUp(selector.lookup);
  if (preparing !== undefined) await preparing; // before the revision is chosen
  if (options.continueToken !== "") return nextPage(registry, options, waiter);
  const revision = parseResourceVersion(resourceVersion);
  // A limit together with a version means exactly that version. This rule is older than the match parameter.
  const isExact = match === "Exact" || (match === "" && limit > 0 && revision > 0);
  if (isExact) return listAt(registry, { revision, range: selector.range, options });

  if (resourceVersion === "") await registry.waitForFreshCache(waiter);
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
  waiter: Waiter | undefined,
): Promise<ObjectList<T>> {
  const point = decodeContinue(options.continueToken);
  if (options.resourceVersion !== "" && options.resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const { start, end } = options.selector.range;
  const next = resourcePrefix(registry.definition) + point.start;
  if (isTooLongKey(next)) throw badRequest("invalid continue token: the start key is longer than any key");
  // A token from another list must not leave this list's range, nor skip objects of this list.
  const at = byteOrdered(next);
  const isOfRange = at >= byteOrdered(start) && at < byteOrdered(end);
  if (!isOfRange || !isAfterKey(registry.definition, point.start)) throw startKeyOutsideList();
  const range = { start: next, end };
  if (point.revision === -1) {
    await registry.waitForFreshCache(waiter);
    return listCached(registry, { range, options });
  }
  try {
    return await listAt(registry, { revision: point.revision, range, options });
  } catch (error) {
    if (error instanceof ApiError && error.code === 410) throw expiredPage(point);
    throw error;
  }
}

/**
 * Whether a start comes directly after a possible key of the resource. Every page except the first starts at such a
 * position.
 */
const isAfterKey = ({ scope }: { readonly scope: "Namespaced" | "Cluster" }, start: string): boolean =>
  (scope === "Cluster" ? /^[^/]+\0$/ : /^[^/]+\/[^/]+\0$/).test(start);

/** Lists the cached objects at the current revision. */
async function listCached<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { range, options: { selector, limit } }: PageRequest<T>,
): Promise<ObjectList<T>> {
  const { cache } = registry;
  const { revision } = cache;
  const candidates = selector.lookup && cache.lookUp(range, selector.lookup);
  if (limit === 0) {
    const items = await selected(candidates ?? cache.snapshot(range), selector);
    return { items, resourceVersion: String(revision), continueToken: "" };
  }
  // With a selector, it is unknown how many keys fill a page.
  const found = candidates ?? (selector.isEmpty ? cache.range({ ...range, limit: limit + 1 }) : cache.snapshot(range));
  return page(registry, { found, isWhole: !selector.isEmpty, revision, selector, limit, range });
}

/** Selects in several turns of the event loop. Stored objects never change, so writes in between do not matter. */
async function selected<T extends ApiObject>(
  all: Items<StoredObject<T>>,
  selector: ObjectSelector<T>,
): Promise<Items<StoredObject<T>>> {
  if (selector.isEmpty) return all;
  const items: StoredObject<T>[] = [];
  const work = new LongWork();
  for (const stored of all) {
    if (selector.matches(stored)) items.push(stored);
    const pause = work.pause();
    if (pause !== undefined) await pause;
  }
  return items;
}

/** Lists the objects at a revision: from the cache when nothing was written since, otherwise from the store. */
async function listAt<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { revision, range, options }: PageRequest<T> & { readonly revision: number },
): Promise<ObjectList<T>> {
  const { selector, limit } = options;
  await registry.waitForRevision(revision);
  if (registry.cache.revision === revision) return listCached(registry, { range, options });
  // The remaining items are counted from the kept history. Where that does not reach back far enough, the store returns
  // everything.
  const isCountable = revision >= registry.cache.oldestRevision;
  const storeLimit: { readonly limit?: number } =
    limit > 0 && selector.isEmpty && isCountable ? { limit: limit + 1 } : {};
  try {
    const { entries } = await registry.store.range({ ...range, revision, ...storeLimit });
    const found = entries.map((entry) => registry.fromEntry(entry));
    return await page(registry, { found, isWhole: storeLimit.limit === undefined, revision, selector, limit, range });
  } catch (error) {
    if (error instanceof RevisionCompacted) {
      throw expired("The provided resource version is too old: it is no longer kept. Start a new list without it.");
    }
    if (error instanceof RevisionInFuture) {
      throw tooLargeResourceVersion({ wanted: revision, current: error.latestRevision });
    }
    if (error instanceof StoreUnavailable) throw unreadableStore(error);
    throw error;
  }
}

interface Found<T extends ApiObject> {
  /** Longer than a page when more objects follow. */
  readonly found: Items<StoredObject<T>>;
  /** Whether `found` is everything that the range contained at the revision. */
  readonly isWhole: boolean;
  readonly revision: number;
  readonly selector: ObjectSelector<T>;
  readonly limit: number;
  readonly range: KeyRange;
}

async function page<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { found, isWhole, revision, selector, limit, range }: Found<T>,
): Promise<ObjectList<T>> {
  const items: StoredObject<T>[] = [];
  const resourceVersion = String(revision);
  const work = new LongWork();
  let index = -1;
  for (const stored of found) {
    index += 1;
    const pause = work.pause();
    if (pause !== undefined) await pause;
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

/** The client can continue at the latest revision with the token in this error. */
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

/** The start of the next page of a list. */
interface ContinuePoint {
  /** The revision of the first page. -1 means the latest revision: the rest of a list whose revision was compacted. */
  readonly revision: number;
  /** The first key of the page, without the resource's key prefix. */
  readonly start: string;
}

const tokenVersion = "meta.k8s.io/v1";

/** Encodes the point as an opaque token, in upstream's format. */
const encodeContinue = ({ revision, start }: ContinuePoint): string =>
  Buffer.from(JSON.stringify({ v: tokenVersion, rv: revision, start })).toString("base64url");

/** Throws a 400 for a token that this server cannot have issued. */
function decodeContinue(token: string): ContinuePoint {
  const unreadable = /[^\w-]/.exec(token.replace(/=+$/, ""));
  if (unreadable !== null) throw invalidToken(`illegal base64 data at input byte ${unreadable.index}`);
  const sent = parsed(Buffer.from(token, "base64url"));
  if (typeof sent !== "object" || sent === null) throw invalidToken("not an object");
  const { v, rv, start } = sent as Readonly<Record<string, unknown>>;
  if (v !== tokenVersion)
    throw badRequest(
      "invalid continue token: continue key is not valid: server does not recognize this encoded version",
    );
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv < -1 || rv === 0) {
    throw badRequest(
      "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    );
  }
  if (typeof start !== "string" || start === "") {
    throw badRequest(
      "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
    );
  }
  return { revision: rv, start };
}

/** The 400 for a token whose start key is outside the list. */
const startKeyOutsideList = (): Error => invalidToken("encoded start key is not of this list");

function parsed(json: Buffer): unknown {
  try {
    return parseJsonBytes(json).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw invalidToken(error.message);
    throw error;
  }
}

const invalidToken = (fault: string): Error =>
  badRequest(`invalid continue token: continue key is not valid: ${fault}`);
