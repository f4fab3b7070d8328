import type { Subject } from "./binding.ts";
import type { RoleBinding } from "./role-bindings.ts";
import { serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { RbacObjects } from "./rbac-objects.ts";

/** A binding for a user, with the subject that names the user. */
export interface Grant {
  readonly binding: RoleBinding;
  readonly subject: Subject;
}

/** Finds bindings by their subjects. Rebuilt on demand, part by part, after a binding has changed. */
export class BindingIndex {
  readonly #objects: RbacObjects;
  #generation = -1;
  #cluster: SubjectIndex | undefined;
  readonly #namespaces = new Map<string, SubjectIndex>();

  constructor(objects: RbacObjects) {
    this.#objects = objects;
  }

  clusterGrants(user: UserInfo): Grant[] {
    this.#followChanges();
    this.#cluster ??= new SubjectIndex(this.#objects.listClusterRoleBindings());
    return this.#cluster.grants(user);
  }

  namespaceGrants(user: UserInfo, namespace: string): Grant[] {
    this.#followChanges();
    let index = this.#namespaces.get(namespace);
    if (index === undefined) {
      const bindings = this.#objects.listRoleBindings(namespace);
      // Requests can name any namespace: do not store those without bindings.
      if (bindings.length === 0) return [];
      index = new SubjectIndex(bindings);
      this.#namespaces.set(namespace, index);
    }
    return index.grants(user);
  }

  #followChanges(): void {
    const generation = this.#objects.generation();
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#cluster = undefined;
    this.#namespaces.clear();
  }
}

/**
 * Keeps only the first binding of a role to a subject. The others grant nothing more, and anyone with write access can
 * create thousands.
 */
type GrantByRole = Map<string, Grant>;

class SubjectIndex {
  readonly #users = new Map<string, GrantByRole>();
  readonly #groups = new Map<string, GrantByRole>();

  constructor(bindings: readonly RoleBinding[]) {
    for (const binding of bindings) {
      for (const subject of binding.subjects ?? []) this.#add({ binding, subject });
    }
  }

  /** Of many, one for each role: a review may repeat a group thousands of times, or name thousands with the same roles. */
  grants(user: UserInfo): Grant[] {
    const found: Grant[] = [];
    const take = (grant: Grant): void => void found.push(grant);
    this.#users.get(user.username)?.forEach(take);
    const groups = user.groups.length > fewGrants ? new Set(user.groups) : user.groups;
    for (const group of groups) this.#groups.get(group)?.forEach(take);
    return found.length > fewGrants ? firstOfEachRole(found) : found;
  }

  #add(grant: Grant): void {
    const { binding, subject } = grant;
    const namespace = subject.namespace ?? binding.metadata.namespace ?? "";
    if (subject.kind === "User") addTo(grantsOf(this.#users, subject.name), grant);
    else if (subject.kind === "Group") addTo(grantsOf(this.#groups, subject.name), grant);
    else if (subject.kind === "ServiceAccount" && namespace !== "") {
      addTo(grantsOf(this.#users, serviceAccountUsername(namespace, subject.name)), grant);
    }
  }
}

/** Among so few, a look at a role that is there twice costs less than finding out. */
const fewGrants = 16;

function firstOfEachRole(grants: readonly Grant[]): Grant[] {
  const byRole: GrantByRole = new Map();
  for (const grant of grants) addTo(byRole, grant);
  return [...byRole.values()];
}

/** The grants of a user or a group in an index. */
function grantsOf(index: Map<string, GrantByRole>, name: string): GrantByRole {
  let grants = index.get(name);
  if (grants === undefined) index.set(name, (grants = new Map()));
  return grants;
}

function addTo(grants: GrantByRole, grant: Grant): void {
  const role = roleKeyOf(grant.binding);
  if (!grants.has(role)) grants.set(role, grant);
}

/** The unique key of a binding's role. A Role belongs to the binding's namespace. */
export const roleKeyOf = ({ roleRef: { kind, name }, metadata: { namespace = "" } }: RoleBinding): string =>
  kind === "ClusterRole" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
