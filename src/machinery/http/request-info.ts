import type { Verb } from "../api/attributes.ts";
import { badRequest } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { mayHaveParameter, parametersOf, parseBoolean } from "../registry/query-values.ts";

/** A request to the resource API, parsed from its method, path and query (upstream: `request.RequestInfo`). */
export interface ResourceRequestInfo {
  readonly kind: "resource";
  readonly path: string;
  readonly verb: Verb;
  /** "" for the core group (paths below `/api`). */
  readonly group: string;
  readonly version: string;
  /** "" for cluster-scoped requests and lists over all namespaces. */
  readonly namespace: string;
  /** Whether the path leads through a namespace, also through one without a name (`/namespaces//secrets`). */
  readonly isBelowNamespace: boolean;
  /** The plural from the path. It may be unknown to the server. */
  readonly resource: string;
  readonly subresource: string;
  /** Percent-decoded. Empty for requests to a collection. */
  readonly name: string;
  /** Path segments after the subresource. Every such path answers 404. */
  readonly rest: readonly string[];
  /** True for the old `/watch/` paths. */
  readonly isWatchPath: boolean;
}

/** A request outside the resource API, or to its discovery documents. */
interface PathRequestInfo {
  readonly kind: "path";
  readonly path: string;
  /** The HTTP method in lower case. */
  readonly verb: string;
}

/**
 * A resource request with a method that no resource supports. It is authorized like in upstream (HEAD as GET, a
 * `/watch/` path as `watch`, other methods with an empty verb) and then refused.
 */
interface UnservedRequestInfo extends Omit<ResourceRequestInfo, "kind" | "verb"> {
  readonly kind: "unserved";
  readonly verb: Extract<Verb, "get" | "list" | "watch"> | "";
}

export type ParsedRequestInfo = ResourceRequestInfo | UnservedRequestInfo | PathRequestInfo;

const verbOfMethod: ReadonlyMap<string, Verb> = new Map([
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Paths below a namespace that are subresources of the Namespace itself. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

/**
 * Parses what a request is about (upstream: `RequestInfoFactory.NewRequestInfo`). The path is percent-decoded before it
 * is split. So an escaped slash also separates segments, and no later code can interpret the path differently. Throws a
 * 400 for escapes that are malformed or not UTF-8.
 */
export function requestInfo({
  method,
  path,
  query,
}: Pick<HttpRequest, "method" | "path" | "query">): ParsedRequestInfo {
  const decodedPath = path.includes("%") ? decodePath(path) : path;
  const segments = splitPath(decodedPath);
  const prefix = segments[0];
  const isGrouped = prefix === "apis";
  const start = isGrouped ? 3 : 2;
  if ((!isGrouped && prefix !== "api") || segments.length <= start) {
    return { kind: "path", path: decodedPath, verb: method.toLowerCase() };
  }

  const isWatchPath = segments[start] === "watch" && segments.length > start + 1;
  let at = isWatchPath ? start + 1 : start;
  let namespace = "";
  let isBelowNamespace = false;
  if (segments[at] === "namespaces" && segments.length > at + 1) {
    namespace = segments[at + 1] ?? "";
    isBelowNamespace = segments.length > at + 2 && !namespaceSubresources.has(segments[at + 2] ?? "");
    if (isBelowNamespace) at += 2;
  }
  const name = segments[at + 1] ?? "";
  const target = {
    path: decodedPath,
    group: isGrouped ? (segments[1] ?? "") : "",
    version: segments[start - 1] ?? "",
    namespace,
    isBelowNamespace,
    resource: segments[at] ?? "",
    subresource: segments[at + 2] ?? "",
    name,
    rest: segments.length > at + 3 ? segments.slice(at + 3) : [],
    isWatchPath,
  };

  if (isWatchPath) {
    return method === "GET"
      ? { kind: "resource", verb: "watch", ...target }
      : { kind: "unserved", verb: "watch", ...target };
  }
  if (method === "GET" || method === "HEAD") {
    const verb = name !== "" ? "get" : isWatchQuery(query) ? "watch" : "list";
    return { kind: method === "GET" ? "resource" : "unserved", verb, ...target };
  }
  const verb = verbOfMethod.get(method);
  if (verb === undefined) return { kind: "unserved", verb: "", ...target };
  return { kind: "resource", verb: verb === "delete" && name === "" ? "deletecollection" : verb, ...target };
}

/** Whether a request is for the API: for its objects, or for its discovery documents. */
export const isForApi = (info: ParsedRequestInfo): boolean =>
  info.kind !== "path" || /^\/*apis?(?:\/|$)/.test(info.path);

/** Whether a GET of a collection is a watch. Most queries cannot have the parameter: they cost only a search. */
const isWatchQuery = (query: string): boolean =>
  mayHaveParameter(query, "watch") && parseBoolean(parametersOf(query), "watch") === true;

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest("the path has a malformed percent-escape");
  }
}

/** The segments between the outer slashes. Empty segments inside are kept, so that such a path matches nothing. */
function splitPath(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === 47) start++;
  while (end > start && path.charCodeAt(end - 1) === 47) end--;
  return start === end ? [] : path.slice(start, end).split("/");
}
