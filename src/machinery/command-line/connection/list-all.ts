import { ApiError } from "../../api/api-error.ts";
import type { ApiList, ApiObject } from "../../api/object-meta.ts";
import type { ListOptions, ResourceClient } from "../../client/api-client.ts";
import { EndlessList, listPages } from "../../client/list-pages.ts";
import { CommandFailure } from "../command-failure.ts";
import { startProgress } from "../output/progress.ts";

/** Lists all objects, page by page. On a terminal, shows how many it has. */
export async function listAll<T extends ApiObject>(
  resource: ResourceClient<T>,
  options: ListOptions = {},
): Promise<ApiList<T>> {
  const progress = startProgress();
  let first: ApiList<T> | undefined;
  const items: T[] = [];
  try {
    for await (const page of listPages(resource, options)) {
      first ??= page;
      for (const item of page.items) items.push(item);
      if ((page.metadata.continue ?? "") !== "") progress.show(`reading: ${items.length} so far`);
    }
  } catch (error) {
    // The list's continue token has expired. List all objects in one request instead.
    if (first !== undefined && error instanceof ApiError && error.code === 410) return await resource.list(options);
    if (!(error instanceof EndlessList)) throw error;
    throw new CommandFailure("the server's list has no end; look at the server's log", { exit: "unreachable" });
  } finally {
    progress.end();
  }
  if (first === undefined) throw new Error("a list has a first page");
  const { continue: _last, remainingItemCount: _none, ...metadata } = first.metadata;
  return { ...first, metadata, items };
}
