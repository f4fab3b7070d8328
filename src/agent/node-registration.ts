import { ApiError } from "../machinery/api/api-error.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import type { Node } from "../features/nodes/resources.ts";
import type { AgentLog } from "./agent-log.ts";
import { newNode, statusPatch } from "./node-object.ts";
import type { NodeReport } from "./node-object.ts";

export interface NodeRegistrationOptions {
  readonly names: Names;
  readonly nodes: ResourceClient<Node>;
  readonly log: AgentLog;
}

/** Registers the Node where there is none, and makes its status what the report says. Returns the Node. */
export async function registerNode({ names, nodes, log }: NodeRegistrationOptions, report: NodeReport): Promise<Node> {
  const { nodeName } = report;
  const node = (await nodes.find(nodeName)) ?? (await create());
  return nodes.patch(nodeName, statusPatch(node, report), { type: "strategic-merge", subresource: "status" });

  async function create(): Promise<Node> {
    try {
      const created = await nodes.create(newNode(names, report));
      log.info({ node: nodeName }, "registered the node");
      return created;
    } catch (error) {
      // The answer to an earlier try was lost.
      if (error instanceof ApiError && error.reason === "AlreadyExists") return nodes.get(nodeName);
      throw error;
    }
  }
}
