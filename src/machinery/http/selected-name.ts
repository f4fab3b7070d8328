import { parseFieldSelector, requiredFieldValue } from "../api/selectors/field-selector.ts";
import type { FieldSelector } from "../api/selectors/field-selector.ts";
import { selectorTermsIfValid } from "../api/selectors/selector-terms-if-valid.ts";
import { mayHaveParameter, parametersOf } from "../registry/query-values.ts";
import type { ParsedRequestInfo } from "./request-info.ts";

/**
 * The request of a list or a watch with the name that its field selector requires, so that rules with names of objects match it
 * (upstream: `NewRequestInfo`). The old `/watch/` paths have no selectors, and a deletion of a collection has no name.
 */
export function withSelectedName(info: ParsedRequestInfo, query: string): ParsedRequestInfo {
  if (query === "" || info.kind === "path" || info.name !== "" || info.isWatchPath) return info;
  if ((info.verb !== "list" && info.verb !== "watch") || !mayHaveParameter(query, "fieldSelector")) return info;
  const name = selectedName(
    selectorTermsIfValid(parseFieldSelector, parametersOf(query).get("fieldSelector") ?? "") ?? [],
  );
  return name === undefined ? info : { ...info, name };
}

/** The name that all selected objects have. Undefined when they may have several names, or a name that no path can contain. */
export function selectedName(selector: FieldSelector): string | undefined {
  const name = requiredFieldValue(selector, "metadata.name");
  return name !== undefined && canStandInPath(name) ? name : undefined;
}

const canStandInPath = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name);
