import type { Verb } from "./attributes.ts";

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
export interface PathRequestInfo {
  readonly kind: "path";
  readonly path: string;
  /** The HTTP method in lower case. */
  readonly verb: string;
}
