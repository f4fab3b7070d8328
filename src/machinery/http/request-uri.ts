import type { HttpRequest } from "../api/http-message.ts";

const longestUri = 4096;

/** The API's query parameters. */
const knownParameters: ReadonlySet<string> = new Set(
  (
    "allowWatchBookmarks continue dryRun fieldManager fieldSelector fieldValidation force gracePeriodSeconds " +
    "ignoreStoreReadErrorWithClusterBreakingPotential includeObject labelSelector limit orphanDependents pretty " +
    "propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents timeout timeoutSeconds verbose watch"
  ).split(" "),
);

/** The path and query to write down: shortenedTo, and only with the API's own parameters. Others may carry a token by mistake. */
export function requestUri({ path, query }: HttpRequest): string {
  if (query === "") return shortenedTo(path, longestUri);
  const known = query.split("&").filter((parameter) => knownParameters.has(parameter.split("=", 1)[0] ?? ""));
  return shortenedTo(known.length === 0 ? path : `${path}?${known.join("&")}`, longestUri);
}

export const shortenedTo = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length)}...TRUNCATED`;
