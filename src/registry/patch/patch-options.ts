import { invalid } from "../../api/api-error.ts";
import type { ApiError } from "../../api/api-error.ts";
import { forbiddenField, required } from "../../api/field-error.ts";
import type { FieldError } from "../../api/field-error.ts";

/** Faults of a patch's query parameters that depend on its type. `force` is undefined when it was not given. */
export function patchOptionsFaults({
  isApply,
  fieldManager,
  force,
}: {
  readonly isApply: boolean;
  readonly fieldManager: string;
  readonly force: unknown;
}): FieldError[] {
  if (isApply) return fieldManager === "" ? [required("fieldManager", "is required for apply patch")] : [];
  return force === undefined ? [] : [forbiddenField("force", "may not be specified for non-apply patch")];
}

/** The 422 for faults of a patch's query parameters. */
export const invalidPatchOptions = (faults: readonly FieldError[]): ApiError =>
  invalid({ group: "meta.k8s.io", resource: "PatchOptions" }, "", faults);
