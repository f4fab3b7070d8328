import { nodeResource } from "../resources.ts";
import { forbiddenField, notSupported, required } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import { isSameJson } from "../../../machinery/api/json-equality.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { Column, ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { ageColumn } from "../../../machinery/registry/columns.ts";
import { nodeSchema } from "./node-schema.ts";
import type { Node } from "./node-schema.ts";

export const nodes = (names: Names): ResourceDefinition<Node> =>
  defineResource({
    ...nodeResource(names),
    singular: "node",
    shortNames: ["no"],
    schema: nodeSchema,
    validateName: validateDnsSubdomainName,
    validate: validateTaints,
    prepareForUpdate: (next, previous) => ({ ...next, status: previous.status }),
    validateUpdate,
    resetFields: [["status"]],
    subresources: {
      status: {
        type: "update",
        prepareForUpdate: (next, previous) => ({ ...next, spec: previous.spec }),
        resetFields: [["spec"]],
      },
    },
    selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },
    columns: nodeColumns(names),
  });

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const validateTaints = ({ spec }: Node): FieldError[] =>
  (spec.taints ?? []).flatMap(({ key, effect }, index) => [
    ...(key === "" ? [required(`spec.taints[${index}].key`, "")] : []),
    ...(effects.includes(effect) ? [] : [notSupported(`spec.taints[${index}].effect`, effect, effects)]),
  ]);

/** Which machine a node is, and which addresses it gives out, is said once. */
function validateUpdate(next: Node, previous: Node): FieldError[] {
  const faults = validateTaints(next);
  const { podCIDRs: ranges = [], providerID = "" } = previous.spec;
  if (ranges.length > 0 && !isSameJson(next.spec.podCIDRs, ranges)) {
    faults.push(forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'));
  }
  if (providerID !== "" && next.spec.providerID !== providerID) {
    faults.push(forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'));
  }
  return faults;
}

function nodeColumns(names: Names): Column<Node>[] {
  const rolePrefix = names.subdomainKey("node-role", "");
  const roleLabel = names.key("role");
  return [
    { name: "Status", type: "string", description: "Whether the node is ready.", cell: stateOf },
    {
      name: "Roles",
      type: "string",
      description: "The node's roles, from its labels.",
      cell: ({ metadata: { labels = {} } }) => {
        const roles = Object.entries(labels).flatMap(([key, value]) =>
          key.startsWith(rolePrefix) ? [key.slice(rolePrefix.length)] : key === roleLabel ? [value] : [],
        );
        const named = [...new Set(roles)].filter((role) => role !== "").sort();
        return named.length === 0 ? "<none>" : named.join(",");
      },
    },
    ageColumn(),
    {
      name: "Version",
      type: "string",
      description: "The node agent's version.",
      cell: ({ status }) => status.nodeInfo.kubeletVersion,
    },
    addressColumn("Internal-IP", "InternalIP"),
    addressColumn("External-IP", "ExternalIP"),
    infoColumn("OS-Image", "osImage"),
    infoColumn("Kernel-Version", "kernelVersion"),
    infoColumn("Container-Runtime", "containerRuntimeVersion"),
  ];
}

function stateOf({ spec, status }: Node): string {
  const ready = (status.conditions ?? []).find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec.unschedulable === true ? `${state},SchedulingDisabled` : state;
}

const addressColumn = (name: string, type: string): Column<Node> => ({
  name,
  type: "string",
  priority: 1,
  description: `The node's first ${type}.`,
  cell: ({ status }) => (status.addresses ?? []).find((one) => one.type === type)?.address ?? "<none>",
});

const infoColumn = (name: string, field: "osImage" | "kernelVersion" | "containerRuntimeVersion"): Column<Node> => ({
  name,
  type: "string",
  priority: 1,
  description: `The ${field} that the node agent reports.`,
  cell: ({ status }) => status.nodeInfo[field] || "<unknown>",
});
