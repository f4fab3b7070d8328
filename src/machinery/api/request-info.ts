import type { Verb } from "./attributes.ts";

/** A request to the resource API, read from its method, path and query (upstream: `request.RequestInfo`). */
export interface ResourceRequestInfo {
  readonly kind: "resource";
  readonly path: string;
  readonly verb: Verb;
  /** "" for the core group (paths below `/api`). */
  readonly group: string;
  readonly version: string;
  /** "" for cluster-scoped requests and lists over all namespaces. */
  readonly namespace: string;
  /** The plural as in the path; it may be unknown. */
  readonly resource: string;
  readonly subresource: string;
  /** Percent-decoded. "" for requests to a collection. */
  readonly name: string;
  /** Path segments after the subresource: nothing answers those. */
  readonly rest: readonly string[];
  /** By an old `/watch/` path. */
  readonly isWatchPath: boolean;
}

/** A request outside the resource API, or to its discovery documents. */
export interface PathRequestInfo {
  readonly kind: "path";
  readonly path: string;
  /** The HTTP method in lower case. */
  readonly verb: string;
}
