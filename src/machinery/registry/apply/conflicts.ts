import { ApiError } from "../../api/api-error.ts";
import { maximumFaults } from "../../api/field-error.ts";
import { shortened } from "../../api/format-value.ts";
import { pathsOf } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import type { FieldManager } from "./managed-fields.ts";
import { printPath } from "./path-element.ts";

/** Fields that an apply would change although another manager owns them. */
export interface Conflict {
  readonly manager: FieldManager;
  readonly fields: FieldSet;
}

function printManager({ manager, operation, apiVersion, subresource }: FieldManager): string {
  const through = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

/** The 409 of an apply: the first hundred conflicting fields, each with its manager. */
export function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const found: { readonly manager: string; readonly paths: string[] }[] = [];
  let count = 0;
  for (const { manager, fields } of conflicts) {
    const paths: string[] = [];
    for (const path of pathsOf(fields)) if (++count <= maximumFaults) paths.push(shortened(printPath(path)));
    if (paths.length > 0) found.push({ manager: printManager(manager), paths });
  }
  const causes = found.flatMap(({ manager, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field })),
  );
  const [first] = found;
  const summary =
    count === 1 && first !== undefined
      ? `1 conflict: conflict with ${first.manager}: ${first.paths[0] ?? ""}`
      : `${count} conflicts: ${found
          .map(({ manager, paths }) => [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)].join("\n"))
          .join("\n")}`;
  return new ApiError({ code: 409, reason: "Conflict", message: `Apply failed with ${summary}`, details: { causes } });
}
