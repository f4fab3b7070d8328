import type { HttpRequest } from "../../api/http-message.ts";
import { parametersOf } from "../../registry/query-values.ts";
import type { ResourceRequestInfo } from "../request-info.ts";

/**
 * The labels of a request in the metrics, which dashboards for Kubernetes select by (upstream: `metrics.MonitorRequest`). Each is one of a
 * few words, whatever a caller sends. For a request that is not for a served resource, all labels but `verb` are empty.
 */
export const requestLabelNames = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;

export type RequestLabel = (typeof requestLabelNames)[number];
export type RequestLabels = Readonly<Record<RequestLabel, string>>;

/** The verb: LIST, WATCH or APPLY, else the method, with GET for HEAD. Without info, the request is not for a served resource. */
export function verbLabel(
  { method, headers }: Pick<HttpRequest, "method" | "headers">,
  info: ResourceRequestInfo | undefined,
): string {
  const verb = info?.verb;
  if (verb === "list") return "LIST";
  if (verb === "watch") return "WATCH";
  if (verb === "patch" && headers["content-type"] === "application/apply-patch+yaml") return "APPLY";
  if (method === "HEAD") return "GET";
  return reportedMethods.has(method) ? method : "other";
}

const reportedMethods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

/** The scope of a request: one object, the objects of a namespace, or the objects of the cluster. */
export function scopeLabel(info: ResourceRequestInfo | undefined): string {
  if (info === undefined) return "";
  if (info.name !== "" || info.verb === "create") return "resource";
  return info.namespace === "" ? "cluster" : "namespace";
}

export function dryRunLabel({ query }: Pick<HttpRequest, "query">, info: ResourceRequestInfo | undefined): string {
  if (info === undefined || !query.includes("dryRun")) return "";
  const values = parametersOf(query).getAll("dryRun");
  if (values.length === 0) return "";
  return values.every((value) => value === "All") ? "All" : "invalid";
}
