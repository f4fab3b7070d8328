import { setImmediate } from "node:timers/promises";
import type { ApiList, ApiObject } from "../api/object-meta.ts";
import type { ListOptions, ResourceClient } from "./api-client.ts";
import { AnswerTooLarge, UnreadableAnswer } from "./transport.ts";

/** How many objects a page has, as in client-go and kubectl. */
const pageLength = 500;
/** When a page is too large for one answer, the next try asks for this part of its objects. */
const shortening = 8;

/** A list of more pages counts as endless: no program keeps ten million objects in memory. */
const mostPages = 20_000;

export class EndlessList extends UnreadableAnswer {}

/**
 * The pages of a list in their order. Between the pages, other work of the process runs: a hundred thousand objects at once would block it.
 * Each page is an answer of its own, with its own time limit. Pages of large objects are shorter. Throws EndlessList, and AnswerTooLarge
 * for a single object.
 */
export async function* listPages<T extends ApiObject>(
  resource: ResourceClient<T>,
  { signal, ...options }: ListOptions & { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ApiList<T>, void, undefined> {
  const tokens = new Set<string>();
  let limit = pageLength;
  for (let next = ""; ;) {
    let page: ApiList<T>;
    try {
      page = await resource.listPage({ ...options, limit, ...(next !== "" && { continue: next }) });
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
      limit = Math.ceil(limit / shortening);
      continue;
    }
    yield page;
    next = page.metadata.continue ?? "";
    if (next === "") return;
    if (tokens.has(next)) throw new EndlessList("a page of the list leads back to one before it");
    tokens.add(next);
    if (tokens.size === mostPages) throw new EndlessList(`the list has more than ${mostPages} pages`);
    await setImmediate();
    signal?.throwIfAborted();
  }
}
