import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ClusterRole, Role, RoleBinding } from "../rbac-types.ts";
import type { RbacObjects } from "../../../machinery/authorization/authorization.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { resourcePrefix } from "../../../machinery/registry/storage-key.ts";
import { prefixEnd } from "../../../machinery/storage/store.ts";
import { followRegistry } from "../../../machinery/registry/follow-registry.ts";
import type { FindRegistry } from "../../accounts/look-ups.ts";

/** Roles and bindings for the authorizer, from the caches. Call it after the registries have started. */
export function rbacObjects(registry: FindRegistry): RbacObjects {
  const clusterRoles = registry<ClusterRole>("clusterroles");
  const roles = registry<Role>("roles");
  const clusterRoleBindings = registry<RoleBinding>("clusterrolebindings");
  const roleBindings = registry<RoleBinding>("rolebindings");
  let generation = 0;
  const onChange = (): void => void generation++;
  const follower = { onLoaded: onChange, onEvent: onChange };
  followRegistry(clusterRoleBindings, follower);
  followRegistry(roleBindings, follower);
  return {
    generation: () => generation,
    getClusterRole: (name) => clusterRoles.peek({ namespace: "", name })?.object,
    getRole: (namespace, name) => roles.peek({ namespace, name })?.object,
    listClusterRoleBindings: () => objectsBelow(clusterRoleBindings, ""),
    listRoleBindings: (namespace) => objectsBelow(roleBindings, `${namespace}/`),
  };
}

function objectsBelow<T extends ApiObject>({ cache, definition }: ResourceRegistry<T>, below: string): T[] {
  const start = resourcePrefix(definition) + below;
  return cache.range({ start, end: prefixEnd(start) }).map(({ object }) => object);
}
