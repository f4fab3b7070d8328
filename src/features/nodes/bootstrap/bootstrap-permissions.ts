import { ApiError } from "../../../machinery/api/api-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { nodesGroup } from "../../../machinery/api/user-info.ts";
import { clusterRoleBindingResource } from "../../access/index.ts";
import type { RoleBinding } from "../../access/index.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection.ts";

/** The group of bootstrap tokens that may ask for nodes' client certificates (kubeadm's idea, and much its name). */
export const bootstrapGroup = "system:bootstrappers:signet:default-node-token";

/**
 * Lets the holders of bootstrap tokens ask for a node's client certificate and get it, and nodes renew theirs. Bindings
 * that are there stay as they are. Returns the names of those that were created.
 */
export async function permitNodeBootstrap({
  client,
  names,
}: Pick<ServerConnection, "client" | "names">): Promise<string[]> {
  const bindings = client.resource(clusterRoleBindingResource(names));
  const created: string[] = [];
  for (const binding of bootstrapBindings(names)) {
    try {
      await bindings.create(binding);
      created.push(binding.metadata.name ?? "");
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
    }
  }
  return created;
}

function bootstrapBindings(names: Names): RoleBinding[] {
  const apiGroup = names.group("rbac.authorization");
  const domain = names.group("certificates").replace("certificates.", "");
  const approved = (subresource: string): string =>
    `system:certificates.${domain}:certificatesigningrequests:${subresource}`;
  const binding = (name: string, role: string, group: string): RoleBinding => ({
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup, kind: "Group", name: group }],
  });
  return [
    binding("signet:node-bootstrap", "system:node-bootstrapper", bootstrapGroup),
    binding("signet:node-autoapprove-bootstrap", approved("nodeclient"), bootstrapGroup),
    binding("signet:node-autoapprove-certificate-rotation", approved("selfnodeclient"), nodesGroup),
  ];
}
