import {
  duplicate,
  invalidValue,
  invalidValues,
  required,
  tooLong,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import { patternMessage } from "../../../machinery/api/validation/name-validation.ts";

/** One aspect of an object's state (upstream: `metav1.Condition`). */
interface Condition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number | undefined;
  readonly lastTransitionTime: string | null;
  readonly reason: string;
  readonly message: string;
}

const longestReasonBytes = 1024;
const longestMessageBytes = 32 * 1024;
const statuses = ["False", "True", "Unknown"];
const reasonFormat = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonPattern = new RegExp(`^${reasonFormat}$`);
const reasonRule = patternMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  { format: reasonFormat, examples: ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"] },
);

/** The faults of a list of conditions at `field` (upstream: `ValidateConditions`). */
export function validateConditions(conditions: readonly Condition[], field: string): FieldError[] {
  const known = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const at = `${field}[${index}]`;
    const repeated = known.has(condition.type) ? [duplicate(`${at}.type`, condition.type)] : [];
    known.add(condition.type);
    return [...repeated, ...validateCondition(condition, at)];
  });
}

function validateCondition(condition: Condition, field: string): FieldError[] {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
  const faults = invalidValues(`${field}.type`, { value: type, details: qualifiedNameFaults(type) });
  faults.push(...validateChoice(`${field}.status`, { value: status, supported: statuses }));
  if (observedGeneration < 0) {
    const detail = "must be greater than or equal to zero";
    faults.push(invalidValue(`${field}.observedGeneration`, { value: observedGeneration, detail }));
  }
  if (lastTransitionTime === null) faults.push(required(`${field}.lastTransitionTime`, ""));
  if (reason === "") faults.push(required(`${field}.reason`, ""));
  else if (!reasonPattern.test(reason)) {
    faults.push(invalidValue(`${field}.reason`, { value: reason, detail: reasonRule }));
  }
  if (Buffer.byteLength(reason) > longestReasonBytes) faults.push(tooLong(`${field}.reason`, longestReasonBytes));
  if (Buffer.byteLength(message) > longestMessageBytes) faults.push(tooLong(`${field}.message`, longestMessageBytes));
  return faults;
}
