import { ApiError } from "../api/api-error.ts";
import type { ApiList, ApiObject } from "../api/object-meta.ts";
import type { ListOptions, ResourceClient } from "../client/api-client.ts";
import { CommandFailure } from "./command-failure.ts";
import { startProgress } from "./progress.ts";

/** The same page size as kubectl's. Each page is an answer of its own, with its own time limit. */
const pageSize = 500;
/** A server that never ends a list is not waited for. */
const mostPages = 20_000;

/** Lists all objects, a page at a time, and says on a terminal how far it has come. */
export async function listAll<T extends ApiObject>(
  resource: ResourceClient<T>,
  options: ListOptions = {},
): Promise<ApiList<T>> {
  const first = await resource.list({ ...options, limit: pageSize });
  const progress = startProgress();
  const items = [...first.items];
  try {
    let next = first.metadata.continue;
    for (let page = 1; next !== undefined && next !== ""; page++) {
      if (page === mostPages) {
        throw new CommandFailure("the server's list has no end; look at the server's log", { exit: "unreachable" });
      }
      progress.show(`reading: ${items.length} so far`);
      const more = await resource.list({ ...options, limit: pageSize, continue: next });
      for (const item of more.items) items.push(item);
      next = more.metadata.continue;
    }
  } catch (error) {
    // The list has changed too much since it began: all at once, then.
    if (error instanceof ApiError && error.code === 410) return await resource.list(options);
    throw error;
  } finally {
    progress.end();
  }
  const { continue: _last, remainingItemCount: _none, ...metadata } = first.metadata;
  return { ...first, metadata, items };
}
