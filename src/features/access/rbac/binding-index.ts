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

/**
 * Finds bindings by their subjects. The bindings of a namespace are gathered when somebody first asks for them. Later, a change costs
 * what the changed binding does, however many others there are.
 */
export class BindingIndex {
  readonly #objects: RbacObjects;
  readonly #namespaces = new Map<string, SubjectIndex>();

  constructor(objects: RbacObjects) {
    this.#objects = objects;
    objects.followBindings({
      onLoaded: () => this.#namespaces.clear(),
      onChanged: ({ namespace, name }) => {
        const index = this.#namespaces.get(namespace);
        if (index === undefined) return;
        index.replace(name, objects.getBinding({ namespace, name }));
        if (index.isEmpty) this.#namespaces.delete(namespace);
      },
    });
  }

  /** "" is the namespace of cluster-wide grants. */
  grants(user: UserInfo, namespace: string): Grant[] {
    let index = this.#namespaces.get(namespace);
    if (index === undefined) {
      const bindings = this.#objects.listBindings(namespace);
      // Requests can name any namespace: do not store those without bindings.
      if (bindings.length === 0) return [];
      this.#namespaces.set(namespace, (index = new SubjectIndex(bindings)));
    }
    return index.grants(user);
  }
}

/**
 * The grants of one subject by their roles, and of each role in the order in which they came. Only the first counts: the others grant
 * nothing more, and anyone with write access can create thousands.
 */
type GrantsByRole = Map<string, Grant[]>;

class SubjectIndex {
  readonly #bindings = new Map<string, RoleBinding>();
  readonly #users = new Map<string, GrantsByRole>();
  readonly #groups = new Map<string, GrantsByRole>();

  constructor(bindings: readonly RoleBinding[]) {
    for (const binding of bindings) this.#add(binding);
  }

  get isEmpty(): boolean {
    return this.#bindings.size === 0;
  }

  /** Of many, one for each role: a review may repeat a group thousands of times, or name thousands with the same roles. */
  grants(user: UserInfo): Grant[] {
    const found: Grant[] = [];
    const take = (grants: readonly Grant[]): void => {
      const first = grants[0]; // a pattern would make an iterator
      if (first !== undefined) found.push(first);
    };
    this.#users.get(user.username)?.forEach(take);
    const groups = user.groups.length > fewGrants ? new Set(user.groups) : user.groups;
    for (const group of groups) this.#groups.get(group)?.forEach(take);
    return found.length > fewGrants ? firstOfEachRole(found) : found;
  }

  /** Undefined: the binding is gone. */
  replace(name: string, binding: RoleBinding | undefined): void {
    const known = this.#bindings.get(name);
    if (known !== undefined) this.#remove(known);
    if (binding !== undefined) this.#add(binding);
  }

  #add(binding: RoleBinding): void {
    this.#bindings.set(binding.metadata.name ?? "", binding);
    const role = roleKeyOf(binding);
    for (const subject of binding.subjects ?? []) {
      const place = this.#placeOf(subject, binding);
      if (place === undefined) continue;
      const byRole = place.grants.get(place.name);
      const grants = byRole?.get(role);
      if (byRole === undefined) place.grants.set(place.name, new Map([[role, [{ binding, subject }]]]));
      else if (grants === undefined) byRole.set(role, [{ binding, subject }]);
      // A binding may name a subject twice.
      else if (grants.at(-1)?.binding !== binding) grants.push({ binding, subject });
    }
  }

  #remove(binding: RoleBinding): void {
    this.#bindings.delete(binding.metadata.name ?? "");
    const role = roleKeyOf(binding);
    for (const subject of binding.subjects ?? []) {
      const place = this.#placeOf(subject, binding);
      const byRole = place?.grants.get(place.name);
      const grants = byRole?.get(role);
      if (place === undefined || byRole === undefined || grants === undefined) continue;
      const index = grants.findIndex((grant) => grant.binding === binding);
      if (index >= 0) grants.splice(index, 1);
      if (grants.length === 0) byRole.delete(role);
      if (byRole.size === 0) place.grants.delete(place.name);
    }
  }

  /** Where the grants of a subject are. Undefined: it is nobody. */
  #placeOf({ kind, name, namespace }: Subject, { metadata }: RoleBinding): Place | undefined {
    if (kind === "User") return { grants: this.#users, name };
    if (kind === "Group") return { grants: this.#groups, name };
    const home = namespace ?? metadata.namespace ?? "";
    if (kind !== "ServiceAccount" || home === "") return undefined;
    return { grants: this.#users, name: serviceAccountUsername(home, name) };
  }
}

interface Place {
  readonly grants: Map<string, GrantsByRole>;
  readonly name: string;
}

/** Among so few, a look at a role that is there twice costs less than finding out. */
const fewGrants = 16;

function firstOfEachRole(grants: readonly Grant[]): Grant[] {
  const byRole = new Map<string, Grant>();
  for (const grant of grants) {
    const role = roleKeyOf(grant.binding);
    if (!byRole.has(role)) byRole.set(role, grant);
  }
  return [...byRole.values()];
}

/** The unique key of a binding's role. A Role belongs to the binding's namespace. */
export const roleKeyOf = ({ roleRef: { kind, name }, metadata: { namespace = "" } }: RoleBinding): string =>
  kind === "ClusterRole" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
