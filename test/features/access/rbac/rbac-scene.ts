import type { AuthorizationAttributes, ResourceAttributes } from "../../../../src/machinery/api/attributes.ts";
import type { Subject } from "../../../../src/features/access/rbac/binding.ts";
import type { PolicyRule } from "../../../../src/features/access/rbac/policy-rule.ts";
import type { RoleBinding } from "../../../../src/features/access/rbac/role-bindings.ts";
import type { ClusterRole, Role } from "../../../../src/features/access/rbac/roles.ts";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { rbac } from "../../../../src/features/access/rbac/rbac-authorizer.ts";
import type { BindingFollower, RbacObjects } from "../../../../src/features/access/rbac/rbac-objects.ts";
import type { ObjectName } from "../../../../src/machinery/registry/stored/storage-key.ts";
import { RuleResolver } from "../../../../src/features/access/rbac/rule-resolver.ts";

const apiVersion = "rbac.authorization.platform.io/v1";

export const user = (username: string, ...groups: string[]): UserInfo => ({ username, groups, extra: {} });
export const alice = user("alice", "dev");

export const asks = (what: Partial<ResourceAttributes> = {}): AuthorizationAttributes => ({
  kind: "resource",
  user: alice,
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "",
  ...what,
});

export const asksPath = (path: string, verb = "get"): AuthorizationAttributes => ({
  kind: "path",
  user: alice,
  verb,
  path,
});

export const toUser = (name: string): Subject => ({ kind: "User", name });
export const toGroup = (name: string): Subject => ({ kind: "Group", name });
export const readPods: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };

/** The roles and bindings that a test adds. */
export class TestRbac implements RbacObjects {
  readonly clusterRoles = new Map<string, ClusterRole>();
  readonly roles = new Map<string, Role>();
  readonly #bindings = new Map<string, RoleBinding>();
  readonly #followers: BindingFollower[] = [];
  #roleCount = 0;

  followBindings(follower: BindingFollower): void {
    follower.onLoaded();
    this.#followers.push(follower);
  }
  listBindings(namespace: string): Iterable<RoleBinding> {
    return [...this.#bindings.values()].filter(({ metadata }) => (metadata.namespace ?? "") === namespace);
  }
  getBinding({ namespace, name }: ObjectName): RoleBinding | undefined {
    return this.#bindings.get(`${namespace}/${name}`);
  }
  getClusterRole(name: string): ClusterRole | undefined {
    return this.clusterRoles.get(name);
  }
  getRole(namespace: string, name: string): Role | undefined {
    return this.roles.get(`${namespace}/${name}`);
  }

  /** Writes a binding, and replaces a binding of the same name. */
  put(binding: RoleBinding): this {
    const { namespace = "", name = "" } = binding.metadata;
    this.#bindings.set(`${namespace}/${name}`, binding);
    for (const { onChanged } of this.#followers) onChanged({ namespace, name });
    return this;
  }

  remove({ namespace, name }: ObjectName): void {
    this.#bindings.delete(`${namespace}/${name}`);
    for (const { onChanged } of this.#followers) onChanged({ namespace, name });
  }

  /** Replaces all bindings by these, without events that tell the previous ones. */
  replaceBindings(...bindings: readonly RoleBinding[]): void {
    this.#bindings.clear();
    for (const binding of bindings) {
      const { namespace = "", name = "" } = binding.metadata;
      this.#bindings.set(`${namespace}/${name}`, binding);
    }
    for (const { onLoaded } of this.#followers) onLoaded();
  }

  /** Grants rules in the whole cluster. */
  grant(rules: PolicyRule[], ...subjects: Subject[]): this {
    const name = `c${++this.#roleCount}`;
    this.clusterRoles.set(name, { apiVersion, kind: "ClusterRole", metadata: { name }, rules });
    return this.bindCluster(name, ...subjects);
  }

  /** Grants rules in one namespace. */
  grantIn(namespace: string, rules: PolicyRule[], ...subjects: Subject[]): this {
    const name = `r${++this.#roleCount}`;
    this.roles.set(`${namespace}/${name}`, { apiVersion, kind: "Role", metadata: { name, namespace }, rules });
    return this.bind(namespace, { kind: "Role", name }, ...subjects);
  }

  bindCluster(name: string, ...subjects: Subject[]): this {
    return this.put({
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name: `${name}-binding` },
      subjects,
      roleRef: roleRef("ClusterRole", name),
    });
  }

  bind(namespace: string, { kind, name }: { kind: string; name: string }, ...subjects: Subject[]): this {
    const metadata = { name: `${name}-binding`, namespace };
    return this.put({ apiVersion, kind: "RoleBinding", metadata, subjects, roleRef: roleRef(kind, name) });
  }

  resolver(): RuleResolver {
    return new RuleResolver(this);
  }

  authorizer() {
    return rbac(this.resolver());
  }
}

export const roleRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.platform.io", kind, name });
