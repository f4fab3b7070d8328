import { invalid } from "../../../machinery/api/api-error.ts";
import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import { invalidValue } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

const level = {
  pattern: /^(?:privileged|baseline|restricted)$/,
  detail: "must be one of privileged, baseline, restricted",
};
const version = { pattern: /^(?:latest|v1\.(?:0|[1-9]\d*))$/, detail: 'must be "latest" or "v1.x"' };

/** The labels and their allowed values, in upstream's order. */
const rules = ["enforce", "audit", "warn"].flatMap((mode) => [
  { name: mode, ...level },
  { name: `${mode}-version`, ...version },
]);

/**
 * Refuses labels of a Namespace that name no pod security standard, unless the Namespace already has them (upstream: PodSecurity). Nothing
 * runs Pods here, so these labels have no other effect: they are for the clusters to which the same files are applied.
 */
export const podSecurityLabels = (names: Names): AdmissionRule => ({
  name: "PodSecurity",
  appliesTo: ({ group, resource, subresource, object }) =>
    group === "" && resource === "namespaces" && subresource === "" && object !== undefined,
  validate({ object, oldObject, name }) {
    const faults = labelFaults(names, object);
    if (faults.length === 0 || isSemanticallyEqual(faults, labelFaults(names, oldObject))) return;
    throw invalid({ group: "", resource: "Namespace" }, { name, faults });
  },
});

function labelFaults(names: Names, object: ApiObject | undefined): FieldError[] {
  const { labels = {} } = object?.metadata ?? {};
  return rules.flatMap(({ name, pattern, detail }) =>
    spellingsOf(names, (one) => one.subdomainKey("pod-security", name)).flatMap((label) => {
      const value = labels[label];
      if (value === undefined || pattern.test(value)) return [];
      return [invalidValue(`metadata.labels[${label}]`, { value, detail })];
    }),
  );
}
