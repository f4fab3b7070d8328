import {
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { labelValueFaults, qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import type { KindFault } from "../../../machinery/registry/definition/kind-faults.ts";
import { taintEffects } from "./node-schema.ts";
import type { Node, Taint } from "./node-schema.ts";
import { validateDeclaredFeatures, validatePodRanges, validateResources } from "./node-values.ts";
import type { NodeBefore } from "./node-values.ts";

/** Returns the faults of a Node. Taints follow the rules for labels, so that a scheduler can read them. */
export const validateNode = (node: Node, before: NodeBefore): FieldError[] => [
  ...validateTaints(node.spec.taints ?? []),
  ...validateResources(node, before),
  ...validateDeclaredFeatures(node, before),
  ...validatePodRanges(node, before),
];

interface NodeUpdate extends NodeBefore {
  readonly previous: Node;
}

/** Returns the faults of an update. As in upstream, taints are validated twice, so their faults appear twice. */
export const validateNodeUpdate = (next: Node, update: NodeUpdate): KindFault[] => [
  "metadata",
  ...validateNode(next, update),
  "metadata change",
  ...validateChange(next, update.previous),
];

export const validateNodeStatusUpdate = (next: Node, update: NodeUpdate): KindFault[] => [
  "metadata change",
  ...validateResources(next, update),
  ...validateDeclaredFeatures(next, update),
  ...validateChange(next, update.previous),
];

/** The faults of an update of the Node or of its status: some fields cannot change once they are set. */
function validateChange(next: Node, previous: Node): FieldError[] {
  const faults = validateAddresses(next.status.addresses ?? []);
  const { podCIDRs: ranges = [], providerID = "", externalID = "" } = previous.spec;
  if (ranges.length > 0 && !isSemanticallyEqual(next.spec.podCIDRs, ranges)) {
    faults.push(forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'));
  }
  if (providerID !== "" && next.spec.providerID !== providerID) {
    faults.push(forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'));
  }
  faults.push(...validateTaints(next.spec.taints ?? []));
  if ((next.spec.externalID ?? "") !== externalID) {
    faults.push(forbiddenField("spec.externalID", "may not be updated"));
  }
  return faults;
}

/** The faults of taints. Their path is upstream's, from when taints were in the metadata. */
function validateTaints(taints: readonly Taint[]): FieldError[] {
  const known = new Set<string>();
  return taints.flatMap((taint, index) => {
    const { key, value = "", effect } = taint;
    const field = `metadata.taints[${index}]`;
    const valueFaults = labelValueFaults(value);
    const faults = invalidValues(`${field}.key`, { value: key, details: qualifiedNameFaults(key) });
    if (valueFaults.length > 0) {
      faults.push(invalidValue(`${field}.value`, { value, detail: valueFaults.join(";") }));
    }
    if (effect === "") faults.push(required(`${field}.effect`, ""));
    else faults.push(...validateChoice(`${field}.effect`, { value: effect, supported: taintEffects }));
    const pair = JSON.stringify([effect, key]);
    if (known.has(pair)) faults.push(repeatedTaint(field, taint));
    known.add(pair);
    return faults;
  });
}

function repeatedTaint(field: string, { key, value = "", effect, timeAdded }: Taint): FieldError {
  const fault = duplicate(field, { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded ?? null });
  return { ...fault, message: `${fault.message}: taints must be unique by key and effect pair` };
}

function validateAddresses(addresses: NonNullable<Node["status"]["addresses"]>): FieldError[] {
  const known = new Set<string>();
  return addresses.flatMap(({ type, address }, index) => {
    const pair = JSON.stringify([type, address]);
    if (known.has(pair)) return [duplicate(`status.addresses[${index}]`, { Type: type, Address: address })];
    known.add(pair);
    return [];
  });
}
