import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ClusterRole, RoleBinding } from "../rbac-types.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { reconcileBinding, reconcileRole } from "./reconcile.ts";
import type { ApiClient, ResourceReference } from "../../../machinery/client/api-client.ts";
import type { FindRegistry } from "../../accounts/look-ups.ts";

export interface PolicyKeeper {
  readonly names: Names;
  readonly registry: FindRegistry;
  /** A user who may do everything, because this policy defines what others may do. */
  readonly client: ApiClient;
}

/** Restores the default roles and bindings. When nothing is missing, it only reads from memory. */
export async function reconcilePolicy({ names, registry, client }: PolicyKeeper): Promise<void> {
  const group = names.group("rbac.authorization");
  const reference = <T extends ApiObject>(kind: string): ResourceReference<T> => ({
    group,
    version: "v1",
    resource: `${kind.toLowerCase()}s`,
    kind,
    isNamespaced: false,
  });
  const roles = client.resource(reference<ClusterRole>("ClusterRole"));
  const bindings = client.resource(reference<RoleBinding>("ClusterRoleBinding"));
  const policy = bootstrapPolicy(names);

  const keepRole = async (wanted: ClusterRole): Promise<void> => {
    const { name = "" } = wanted.metadata;
    const existing = registry<ClusterRole>("clusterroles").peek({ namespace: "", name })?.object;
    const next = existing && reconcileRole(existing, wanted, names);
    if (existing === undefined) await roles.create(wanted);
    else if (next !== undefined) await roles.update(next);
  };
  const keepBinding = async (wanted: RoleBinding): Promise<void> => {
    const { name = "" } = wanted.metadata;
    const existing = registry<RoleBinding>("clusterrolebindings").peek({ namespace: "", name })?.object;
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
