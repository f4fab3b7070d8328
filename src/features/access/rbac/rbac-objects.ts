import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { RoleBinding } from "./role-bindings.ts";
import type { ClusterRole, Role } from "./roles.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { followRegistry, readableObjects } from "../../../machinery/registry/follow-registry.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { clusterRoleBindingResource, clusterRoleResource, roleBindingResource, roleResource } from "../resources.ts";

/** Cached roles and bindings. */
export interface RbacObjects {
  /**
   * Grows with every change of a binding. Results about who is bound to which role are valid while it stays the same.
   */
  generation(): number;
  listClusterRoleBindings(): readonly RoleBinding[];
  listRoleBindings(namespace: string): readonly RoleBinding[];
  getClusterRole(name: string): ClusterRole | undefined;
  getRole(namespace: string, name: string): Role | undefined;
}

/** Roles and bindings for the authorizer, from the caches. Call after the registries have started. */
export function rbacObjects(stores: Stores): RbacObjects {
  const clusterRoles = stores.of(clusterRoleResource);
  const roles = stores.of(roleResource);
  const clusterRoleBindings = stores.of(clusterRoleBindingResource);
  const roleBindings = stores.of(roleBindingResource);
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

/** A binding that can't be decrypted grants nothing. */
const objectsBelow = <T extends ApiObject>(registry: ResourceRegistry<T>, below: string): T[] =>
  readableObjects(registry, below).map(({ object }) => object);
