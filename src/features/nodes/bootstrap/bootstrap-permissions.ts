import type { NewObject } from "../../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { nodesGroup } from "../../../machinery/api/user-info.ts";
import { clusterRoleBindingResource } from "../../access/index.ts";
import type { RoleBinding } from "../../access/index.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";

/**
 * The group of bootstrap tokens whose holders may request client certificates for nodes (kubeadm has a similar one).
 */
export const bootstrapGroup = "system:bootstrappers:signet:default-node-token";

/**
 * Creates the bindings with which holders of bootstrap tokens may request a node's client certificate that is approved automatically, and
 * nodes may renew theirs. Does not change existing bindings. Returns the names of the created bindings.
 */
export async function permitNodeBootstrap({
  client,
  names,
}: Pick<ServerConnection, "client" | "names">): Promise<string[]> {
  const bindings = client.resource(clusterRoleBindingResource(names));
  const created: string[] = [];
  for (const binding of bootstrapBindings(names)) {
    const isNew = (await ignoreCodes([409], bindings.create(binding))) !== undefined;
    if (isNew) created.push(binding.metadata.name ?? "");
  }
  return created;
}

function bootstrapBindings(names: Names): NewObject<RoleBinding>[] {
  const apiGroup = names.group("rbac.authorization");
  const domain = names.group("certificates").replace("certificates.", "");
  const approved = (subresource: string): string =>
    `system:certificates.${domain}:certificatesigningrequests:${subresource}`;
  const binding = (
    name: string,
    { role, group }: { readonly role: string; readonly group: string },
  ): NewObject<RoleBinding> => ({
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup, kind: "Group", name: group }],
  });
  return [
    binding("signet:node-bootstrap", { role: "system:node-bootstrapper", group: bootstrapGroup }),
    binding("signet:node-autoapprove-bootstrap", { role: approved("nodeclient"), group: bootstrapGroup }),
    binding("signet:node-autoapprove-certificate-rotation", { role: approved("selfnodeclient"), group: nodesGroup }),
  ];
}
