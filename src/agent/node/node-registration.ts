import type { Node } from "../../features/nodes/resources.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import type { Names } from "../../machinery/api/names.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import type { NewObject, ResourceClient } from "../../machinery/client/api-client.ts";
import { architecture, operatingSystem } from "./machine.ts";
import type { NodeSystemInfo } from "./machine.ts";
import type { MachineNames } from "../certificates/wanted-certificate.ts";
import type { Log } from "../../machinery/logging/log.ts";

type NodeStatus = Node["status"];
type NodeAddresses = NonNullable<NodeStatus["addresses"]>;
type NodeCondition = NonNullable<NodeStatus["conditions"]>[number];

/** What the agent reports about its machine. */
export interface NodeReport {
  readonly nodeName: string;
  readonly machine: MachineNames;
  readonly nodeInfo: NodeSystemInfo;
  /** The port of the agent's health and metrics; 0: only the machine itself can reach them. */
  readonly port: number;
  /** Whether both certificates exist. */
  readonly isReady: boolean;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
}

interface NodeRegistrationOptions {
  readonly names: Names;
  readonly nodes: ResourceClient<Node>;
  readonly log: Log;
  /** The Node as the server returned it last. While nobody else changes it, one request is enough. */
  readonly known: Node | undefined;
}

/** Creates the Node if it is missing; otherwise writes the report to its status. Returns the Node. */
export async function registerNode(
  { names, nodes, log, known }: NodeRegistrationOptions,
  report: NodeReport,
): Promise<Node> {
  const { nodeName } = report;
  const { uid, resourceVersion } = known?.metadata ?? {};
  const updated =
    known &&
    (await ignoreCodes([404, 409], patch({ ...statusPatch(known, report), metadata: { uid, resourceVersion } })));
  if (updated !== undefined) return updated;
  const created = await ignoreCodes([409], nodes.create(newNode(names, report)));
  if (created === undefined) return patch(statusPatch(await nodes.get(nodeName), report));
  log.info({ node: nodeName }, "registered the node");
  return created;

  function patch(change: object): Promise<Node> {
    return nodes.patch(nodeName, { body: change, type: "strategic-merge", subresource: "status" });
  }
}

/** A new Node. Its labels describe the machine and do not influence where Pods run. */
const newNode = (names: Names, report: NodeReport): NewObject<Node> => ({
  metadata: {
    name: report.nodeName,
    labels: {
      [names.key("hostname")]: report.nodeName,
      [names.key("os")]: operatingSystem,
      [names.key("arch")]: architecture,
    },
  },
  spec: {},
  status: nodeStatus(report, undefined),
});

/** The part of a Node's status that the agent reports. `previous` is the present Ready condition. */
function nodeStatus(report: NodeReport, previous: NodeCondition | undefined): NodeStatus {
  return {
    addresses: nodeAddresses(report),
    conditions: [readyCondition(report, previous)],
    daemonEndpoints: { kubeletEndpoint: { Port: report.port } },
    nodeInfo: report.nodeInfo,
  };
}

/** Every name and address of the serving certificate, so that an approver can compare them. */
const nodeAddresses = ({ nodeName, machine }: NodeReport): NodeAddresses => [
  ...machine.ipAddresses.map((address) => ({ type: "InternalIP", address })),
  { type: "Hostname", address: nodeName },
  ...machine.dnsNames.filter((name) => name !== nodeName).map((address) => ({ type: "InternalDNS", address })),
];

function readyCondition({ isReady, now }: NodeReport, previous: NodeCondition | undefined): NodeCondition {
  const status = isReady ? "True" : "False";
  const changedAt = previous?.status === status ? previous.lastTransitionTime : undefined;
  return {
    type: "Ready",
    status,
    reason: isReady ? "AgentReady" : "CertificatesPending",
    message: isReady ? "The node agent has its certificates." : "The node agent waits for its serving certificate.",
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: changedAt ?? timestamp(now),
  };
}

/**
 * A strategic merge patch of a Node's status that leaves the conditions of other clients unchanged. It replaces all addresses:
 * merging them by type would keep only one of each type.
 */
function statusPatch(node: Node, report: NodeReport): object {
  const ready = node.status.conditions?.find(({ type }) => type === "Ready");
  const { addresses = [], ...status } = nodeStatus(report, ready);
  const isSame = isSemanticallyEqual(addresses, node.status.addresses);
  return { status: { ...status, ...(!isSame && { addresses: [...addresses, { $patch: "replace" }] }) } };
}
