import type { AuthorizationAttributes, ResourceAttributes } from "../api/attributes.ts";
import { parseFieldSelector } from "../api/selectors/field-selector.ts";
import { parseLabelSelector } from "../api/selectors/parse-label-selector.ts";
import { selectorTermsIfValid } from "../api/selectors/selector-terms-if-valid.ts";
import type { UserInfo } from "../api/user-info.ts";
import { mayHaveParameter, parametersOf } from "../registry/query-values.ts";
import type { ParsedRequestInfo } from "./request-info.ts";
import { selectedName } from "./selected-name.ts";

/**
 * The authorizer's input for a request. A list or watch whose field selector requires one name has that name; a deletion of a
 * collection has no name. The old `/watch/` paths have no selectors (upstream: `NewRequestInfo`).
 */
export function authorizationAttributes(
  info: ParsedRequestInfo,
  { user, query }: { readonly user: UserInfo; readonly query: string },
): AuthorizationAttributes {
  if (info.kind === "path") return { kind: "path", user, verb: info.verb, path: info.path };
  const { verb, group, version, resource, subresource, namespace, name } = info;
  const attributes = { kind: "resource" as const, user, verb, group, version, resource, subresource, namespace, name };
  if (query === "" || name !== "" || info.isWatchPath || !selectingVerbs.has(verb)) return attributes;
  const selectors = selectorsOf(query);
  return { ...attributes, ...selectors, name: verb === "deletecollection" ? "" : (selectors.name ?? "") };
}

const selectingVerbs: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

type Selectors = Pick<ResourceAttributes, "fieldSelector" | "labelSelector"> & { readonly name?: string };

function selectorsOf(query: string): Selectors {
  if (!mayHaveParameter(query, "fieldSelector") && !mayHaveParameter(query, "labelSelector")) return {};
  const parameters = parametersOf(query);
  // A selector that cannot be parsed counts as missing. Callers who are allowed without it get its 400 later.
  const labelSelector = selectorTermsIfValid(parseLabelSelector, parameters.get("labelSelector") ?? "") ?? [];
  const labels = labelSelector.length === 0 ? {} : { labelSelector };
  const fieldSelector = selectorTermsIfValid(parseFieldSelector, parameters.get("fieldSelector") ?? "") ?? [];
  if (fieldSelector.length === 0) return labels;
  const name = selectedName(fieldSelector);
  return { fieldSelector, ...labels, ...(name !== undefined && { name }) };
}
