import { invalid } from "../../api/api-error.ts";
import { forbiddenField, notSupported, required } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { maximumManagerLength, validateFieldManager } from "../../api/validation/object-meta-validation.ts";
import { parametersOf, parseBoolean } from "../query-values.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The parameters of a create, update or patch. */
export interface WriteOptions {
  readonly isDryRun: boolean;
  /** Empty when it was not given. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** For an apply: whether it takes over fields from other managers. */
  readonly isForced: boolean;
}

export type WriteOptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

const defaultOptions: WriteOptions = { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false };

/**
 * Parses and checks the query of a write. Throws a 422 with every fault (upstream: `ValidateCreateOptions` and
 * similar).
 */
export function parseWriteOptions(
  query: string,
  { kind, isApply = false }: { readonly kind: WriteOptionsKind; readonly isApply?: boolean },
): WriteOptions {
  if (query === "" && !isApply) return defaultOptions;
  const parameters = parametersOf(query);
  const fieldManager = parameters.get("fieldManager") ?? "";
  const fieldValidation = parameters.get("fieldValidation") ?? "";
  const dryRun = parameters.getAll("dryRun");
  const force = parseBoolean(parameters, "force");

  const faults = [
    ...(kind === "PatchOptions" && force !== undefined && !isApply
      ? [forbiddenField("force", "may not be specified for non-apply patch")]
      : []),
    ...(isApply && fieldManager === "" ? [required("fieldManager", "is required for apply patch")] : []),
    ...validateFieldManager(fieldManager, "fieldManager"),
    ...validateDryRun(dryRun),
    ...(isFieldValidation(fieldValidation) || fieldValidation === ""
      ? []
      : [notSupported("fieldValidation", { value: fieldValidation, supported: ["", "Ignore", "Strict", "Warn"] })]),
  ];
  if (faults.length > 0) throw invalidOptions(kind, faults);
  return {
    isDryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: isFieldValidation(fieldValidation) ? fieldValidation : "Warn",
    isForced: force === true,
  };
}

const isFieldValidation = (text: string): text is FieldValidation =>
  text === "Ignore" || text === "Warn" || text === "Strict";

export const validateDryRun = (values: readonly string[]): FieldError[] =>
  values.every((value) => value === "All") ? [] : [notSupported("dryRun", { value: values, supported: ["All"] })];

/** The 422 for invalid parameters. It names the kind of the options. */
export const invalidOptions = (kind: string, faults: readonly FieldError[]): Error =>
  invalid({ group: "meta.k8s.io", resource: kind }, { faults });

/**
 * The manager of a write: the parameter, else the User-Agent up to its first slash (upstream: `managerOrUserAgent`).
 */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== "") return fieldManager;
  return truncate((userAgent.split("/", 1)[0] ?? "").replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, ""));
}

/** The most bytes that a UTF-16 code unit takes in UTF-8. */
const maximumBytesPerUnit = 3;

/** Cuts a manager's name to the maximum length, between characters. */
function truncate(text: string): string {
  if (text.length * maximumBytesPerUnit <= maximumManagerLength) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maximumManagerLength) break;
    end += character.length;
  }
  return text.slice(0, end);
}
