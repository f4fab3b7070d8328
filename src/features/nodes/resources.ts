import { resourceType } from "../../machinery/api/resource-type.ts";
import type { NodeLock } from "./lock/node-locks.ts";
import type { CSINode } from "./nodes/csi-nodes.ts";
import type { Node } from "./nodes/node-schema.ts";
import type { Pod } from "./pods/schema/pod-schema.ts";

export const podResource = resourceType<Pod>({ group: "", kind: "Pod", scope: "Namespaced" });
export const nodeResource = resourceType<Node>({ group: "", kind: "Node", scope: "Cluster" });
export const csiNodeResource = resourceType<CSINode>({ group: "storage", kind: "CSINode", scope: "Cluster" });
export const nodeLockResource = resourceType<NodeLock>({ group: "signet", kind: "NodeLock", scope: "Cluster" });
export type { Node } from "./nodes/node-schema.ts";
