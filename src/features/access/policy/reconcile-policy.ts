import type { Names } from "../../../machinery/api/names.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole } from "../rbac/roles.ts";
import { clusterRoleBindingResource, clusterRoleResource } from "../resources.ts";
import type { SignerGrants } from "./controller-policy.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { reconcileBinding, reconcileRole } from "./reconcile.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";

export interface PolicyConnections {
  readonly names: Names;
  readonly stores: Stores;
  /** Must have all permissions: the policy that it writes grants them to others. */
  readonly client: ApiClient;
}

/**
 * Creates missing default roles and bindings, and adds what is missing in existing ones. When nothing is missing, it
 * only reads the caches.
 */
export async function reconcilePolicy(
  { names, stores, client }: PolicyConnections,
  signers: readonly SignerGrants[],
): Promise<void> {
  const roles = client.resource(clusterRoleResource(names));
  const bindings = client.resource(clusterRoleBindingResource(names));
  const policy = bootstrapPolicy(names, signers);

  const keepRole = async (wanted: ClusterRole): Promise<void> => {
    const { name = "" } = wanted.metadata;
    const existing = stores.of(clusterRoleResource).peek({ namespace: "", name })?.object;
    const next = existing && reconcileRole(existing, wanted, names);
    if (existing === undefined) await roles.create(wanted);
    else if (next !== undefined) await roles.update(next);
  };
  const keepBinding = async (wanted: RoleBinding): Promise<void> => {
    const { name = "" } = wanted.metadata;
    const existing = stores.of(clusterRoleBindingResource).peek({ namespace: "", name })?.object;
    if (existing === undefined) {
      await bindings.create(wanted);
      return;
    }
    const change = reconcileBinding(existing, wanted, names);
    if (change?.action === "update") await bindings.update(change.binding);
    else if (change?.action === "replace") {
      await bindings.delete(name);
      await bindings.create(change.binding);
    }
  };
  await Promise.all([...policy.clusterRoles.map(keepRole), ...policy.clusterRoleBindings.map(keepBinding)]);
}
