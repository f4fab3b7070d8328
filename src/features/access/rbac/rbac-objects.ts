import type { RoleBinding } from "./role-bindings.ts";
import type { ClusterRole, Role } from "./roles.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { followRegistry } from "../../../machinery/registry/reads/follow-registry.ts";
import { readableObjects } from "../../../machinery/registry/reads/readable-objects.ts";
import { nameOfKey } from "../../../machinery/registry/stored/storage-key.ts";
import type { ObjectName } from "../../../machinery/registry/stored/storage-key.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { clusterRoleBindingResource, clusterRoleResource, roleBindingResource, roleResource } from "../resources.ts";

/** Receives the changes of bindings. */
export interface BindingFollower {
  /** Any binding may have changed. Called at the start too. */
  onLoaded(): void;
  /** One binding was written or deleted. */
  onChanged(name: ObjectName): void;
}

/** Cached roles and bindings. ClusterRoleBindings have the namespace "". */
export interface RbacObjects {
  followBindings(follower: BindingFollower): void;
  /**
   * Decodes each binding when the iterator reaches it. A binding that changes or is deleted during the iteration may have its old state.
   */
  listBindings(namespace: string): Iterable<RoleBinding>;
  getBinding(name: ObjectName): RoleBinding | undefined;
  getClusterRole(name: string): ClusterRole | undefined;
  getRole(namespace: string, name: string): Role | undefined;
}

/** Roles and bindings for the authorizer, from the caches. Call after the registries have started. */
export function rbacObjects(stores: Stores): RbacObjects {
  const clusterRoles = stores.of(clusterRoleResource);
  const roles = stores.of(roleResource);
  const clusterRoleBindings = stores.of(clusterRoleBindingResource);
  const roleBindings = stores.of(roleBindingResource);
  const bindingsOf = (namespace: string): ResourceRegistry<RoleBinding> =>
    namespace === "" ? clusterRoleBindings : roleBindings;
  return {
    followBindings({ onLoaded, onChanged }) {
      for (const registry of [clusterRoleBindings, roleBindings]) {
        const onEvent = ({ key }: { readonly key: string }): void => onChanged(nameOfKey(registry.definition, key));
        followRegistry(registry, { onLoaded, onEvent });
      }
    },
    // A binding that can't be read grants nothing.
    *listBindings(namespace) {
      const stored = readableObjects(bindingsOf(namespace), namespace === "" ? "" : `${namespace}/`);
      for (const { object } of stored) yield object;
    },
    getBinding: (name) => bindingsOf(name.namespace).peek(name)?.object,
    getClusterRole: (name) => clusterRoles.peek({ namespace: "", name })?.object,
    getRole: (namespace, name) => roles.peek({ namespace, name })?.object,
  };
}
