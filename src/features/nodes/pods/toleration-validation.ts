import { forbiddenField, invalidValue, validateChoice } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { labelValueFaults, qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import { taintEffects } from "../nodes/node-schema.ts";
import type { Pod } from "./schema/pod-schema.ts";
import type { Toleration } from "./schema/scheduling.ts";

/** Those of Kubernetes 1.36: `Lt` and `Gt` need a feature there that is switched off. */
const operators = ["Equal", "Exists"];

/** The taints that a toleration tolerates, without its duration. */
const meaningOf = ({ key = "", operator = "", value = "", effect = "" }: Toleration): string =>
  JSON.stringify([key, operator, value, effect]);
const formOf = (toleration: Toleration): string => `${meaningOf(toleration)}${toleration.tolerationSeconds ?? ""}`;

/**
 * Returns the faults of changed tolerations. They can only be added, or get another duration (upstream: `validateOnlyAddedTolerations`).
 */
export function validateTolerationChange({ spec: next }: Pod, { spec: previous }: Pod): FieldError[] {
  const kept = new Set(next.tolerations?.map(meaningOf));
  const detail = "existing toleration can not be modified except its tolerationSeconds";
  return (previous.tolerations ?? []).every((one) => kept.has(meaningOf(one)))
    ? validateTolerations(next.tolerations, previous.tolerations)
    : [forbiddenField("spec.tolerations", detail)];
}

/** The faults of tolerations that are not in `previous` (upstream: `ValidateTolerations`). */
export function validateTolerations(
  next: readonly Toleration[] = [],
  previous: readonly Toleration[] = [],
): FieldError[] {
  const known = new Set(previous.map(formOf));
  return next.flatMap((toleration, index) =>
    known.has(formOf(toleration)) ? [] : validateToleration(toleration, `spec.tolerations[${index}]`),
  );
}

function validateToleration(toleration: Toleration, field: string): FieldError[] {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  const faults: FieldError[] = [];
  const refuse = (member: keyof Toleration, { wrong, detail }: { wrong: string; detail: string }): void => {
    faults.push(invalidValue(`${field}.${member}`, { value: wrong, detail }));
  };
  for (const detail of key === "" ? [] : qualifiedNameFaults(key)) refuse("key", { wrong: key, detail });
  if (key === "" && operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    refuse("operator", { wrong: operator, detail });
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    refuse("effect", { wrong: effect, detail: "effect must be 'NoExecute' when `tolerationSeconds` is set" });
  }
  // Upstream's error names the operator when the value is wrong.
  if (operator === "Exists" && value !== "") {
    refuse("operator", { wrong: value, detail: "value must be empty when `operator` is 'Exists'" });
  } else if (operator === "Equal" || operator === "") {
    const details = labelValueFaults(value);
    if (details.length > 0) refuse("operator", { wrong: value, detail: details.join(";") });
  }
  for (const [member, given, supported] of [
    ["operator", operator, operators],
    ["effect", effect, taintEffects],
  ] as const) {
    if (given !== "") faults.push(...validateChoice(`${field}.${member}`, { value: given, supported }));
  }
  return faults;
}
