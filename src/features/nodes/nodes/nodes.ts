import { valuesOfBothFields } from "../values-of-both-fields.ts";
import { nodeResource } from "../resources.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { Column, ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { ageColumn, nameColumn, shortLinkDomain } from "../../../machinery/registry/definition/columns.ts";
import { humanDuration } from "../../../machinery/registry/definition/human-duration.ts";
import { nodeSchema, readyConditionOf } from "./node-schema.ts";
import type { Node } from "./node-schema.ts";
import { withNotReadyTaint } from "./condition-taints.ts";
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from "./node-validation.ts";

export const nodes = (names: Names): ResourceDefinition<Node> =>
  defineResource({
    ...nodeResource(names),
    shortNames: ["no"],
    schema: nodeSchema,
    validateName: validateDnsSubdomainName,
    setDefaults,
    prepareForCreate(node) {
      const { spec, ...rest } = withoutConfiguration(node);
      return { ...rest, spec: { ...spec, taints: [...withNotReadyTaint(names, node)] } };
    },
    validate: (node) => validateNode(node, { previous: undefined, names }),
    prepareForUpdate: (next, { previous }) => ({
      ...(previous.spec.configSource === undefined ? withoutConfiguration(next) : next),
      status: previous.status,
    }),
    validateUpdate: (next, { previous }) => validateNodeUpdate(next, { previous, names }),
    warningsOnCreate: deprecations,
    warningsOnUpdate: deprecations,
    resetFields: [["status"]],
    subresources: {
      status: {
        type: "update",
        prepareForUpdate: (next, { previous }) => ({
          ...(previous.status.config === undefined ? withoutConfiguration(next) : next),
          spec: previous.spec,
        }),
        validateUpdate: (next, { previous }) => validateNodeStatusUpdate(next, { previous, names }),
        resetFields: [["spec"]],
      },
    },
    selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },
    columns: nodeColumns(names),
  });

const deprecations = ({ spec }: Node): string[] =>
  (spec.externalID ?? "") === "" ? [] : ["spec.externalID: this field is deprecated, and is unused by Kubernetes"];

/**
 * The Node without the fields for its configuration, which Kubernetes no longer has: they stay only where they are already stored
 * (upstream: `dropDisabledFields`).
 */
function withoutConfiguration({ spec, status, ...node }: Node): Node {
  const { configSource: _source, ...restOfSpec } = spec;
  const { config: _config, ...restOfStatus } = status;
  return { ...node, spec: restOfSpec, status: restOfStatus };
}

function setDefaults({ spec, status, ...node }: Node): Node {
  const { capacity } = status;
  const podCIDRs = valuesOfBothFields(spec.podCIDR, spec.podCIDRs);
  const [podCIDR] = podCIDRs;
  return {
    ...node,
    spec: { ...spec, ...(podCIDR !== undefined && { podCIDR, podCIDRs: [...podCIDRs] }) },
    status: { ...(capacity !== undefined && { allocatable: capacity }), ...status },
  };
}

function nodeColumns(names: Names): Column<Node>[] {
  const rolePrefix = names.subdomainKey("node-role", "");
  const roleLabel = names.key("role");
  const roleOf = (key: string, value: string): string =>
    key.startsWith(rolePrefix) ? key.slice(rolePrefix.length) : key === roleLabel ? value : "";
  return [
    nameColumn(names),
    { name: "Status", description: "The status of the node", cell: stateOf },
    {
      name: "Roles",
      description: "The roles of the node",
      cell: ({ metadata: { labels = {} } }) => {
        const roles = Object.entries(labels).map(([key, value]) => roleOf(names.ownKey(key), value));
        const named = [...new Set(roles)].filter((role) => role !== "").sort();
        return named.length === 0 ? "<none>" : named.join(",");
      },
    },
    ageColumn(names),
    {
      name: "Version",
      description: "Kubelet Version reported by the node.",
      cell: ({ status }) => status.nodeInfo.kubeletVersion,
    },
    {
      name: "Last-Seen",
      description: "How long ago the node reported its state, or renewed its Lease before it was lost.",
      cell: (node, { now }) => {
        const seen = Date.parse(readyConditionOf(node)?.lastHeartbeatTime ?? "");
        return Number.isNaN(seen) ? "<unknown>" : humanDuration(Math.max(0, now - seen));
      },
    },
    addressColumn({ name: "Internal-IP", type: "InternalIP", names }),
    addressColumn({ name: "External-IP", type: "ExternalIP", names }),
    infoColumn({
      name: "OS-Image",
      field: "osImage",
      description: "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).",
    }),
    infoColumn({
      name: "Kernel-Version",
      field: "kernelVersion",
      description: "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
      addition: ({ architecture }) => (architecture === "" ? "" : ` (${architecture})`),
    }),
    infoColumn({
      name: "Container-Runtime",
      field: "containerRuntimeVersion",
      description:
        "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
    }),
  ];
}

function stateOf(node: Node): string {
  const ready = readyConditionOf(node);
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return node.spec.unschedulable === true ? `${state},SchedulingDisabled` : state;
}

interface AddressColumn {
  readonly name: string;
  /** The type of the address that the column shows. */
  readonly type: string;
  readonly names: Names;
}

const addressColumn = ({ name, type, names }: AddressColumn): Column<Node> => ({
  name,
  isWide: true,
  description: `List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://${names.domain}/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.${shortLinkDomain(names)}/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).`,
  cell: ({ status }) => (status.addresses ?? []).find((one) => one.type === type)?.address ?? "<none>",
});

interface InfoColumn {
  readonly name: string;
  readonly field: "osImage" | "kernelVersion" | "containerRuntimeVersion";
  readonly description: string;
  readonly addition?: (nodeInfo: Node["status"]["nodeInfo"]) => string;
}

const infoColumn = ({ name, field, description, addition = () => "" }: InfoColumn): Column<Node> => ({
  name,
  isWide: true,
  description,
  cell: ({ status: { nodeInfo } }) => (nodeInfo[field] || "<unknown>") + addition(nodeInfo),
});
