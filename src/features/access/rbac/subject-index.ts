import { serviceAccountUsernamePrefix } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { RoleRef, Subject } from "./binding.ts";
import type { RoleBinding } from "./role-bindings.ts";
import { subjectsOf } from "./subjects-of.ts";

/** A binding without its subjects, of which there may be thousands. */
export interface BoundRole {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleRef: RoleRef;
  /** The unique key of the role. A Role belongs to the binding's namespace. */
  readonly roleKey: string;
}

/** A binding that applies to a user. All users that a binding names share one Grant, and so do all service accounts. */
export interface Grant {
  readonly binding: BoundRole;
  /** How the binding names the user. */
  readonly kind: "User" | "ServiceAccount" | "Group";
  /** The user's group that the binding names. Empty for other kinds. */
  readonly group: string;
}

/**
 * The grants of a subject: a single grant, as most subjects have, or several by role key. The grants of a role are in the order in which
 * they were added. Only the first grant of a role counts, because the others allow nothing more, and anyone who may write bindings can
 * create thousands.
 */
type Holding = Grant | Map<string, Grant[]>;

interface IndexedBinding {
  readonly bound: BoundRole;
  /** The names in #users and #groups that have the binding. */
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** The bindings of one namespace, by their subjects. Each subject takes about 100 bytes. */
export class SubjectIndex {
  readonly #bindings = new Map<string, IndexedBinding>();
  readonly #users = new Map<string, Holding>();
  readonly #groups = new Map<string, Holding>();

  get isEmpty(): boolean {
    return this.#bindings.size === 0;
  }

  /**
   * The grants of a user. Of many grants, returns only one for each role, because a review may repeat a group thousands of times, or name
   * thousands of groups with the same roles.
   */
  grants(user: UserInfo): Grant[] {
    const found: Grant[] = [];
    let ofLast = addFirstOfEachRole(found, this.#users.get(user.username));
    const groups = user.groups.length > fewGrants ? new Set(user.groups) : user.groups;
    for (const group of groups) ofLast = addFirstOfEachRole(found, this.#groups.get(group)) || ofLast;
    // The grants of one user or group have each role once.
    return found.length > fewGrants && found.length > ofLast ? firstOfEachRole(found) : found;
  }

  /** Replaces a binding. Undefined: the binding was deleted. */
  replace(name: string, binding: RoleBinding | undefined): void {
    const known = this.#bindings.get(name);
    if (known !== undefined) this.#remove(known);
    if (binding !== undefined) this.add(binding);
  }

  add(binding: RoleBinding): void {
    const bound = boundRoleOf(binding);
    const toUser: Grant = { binding: bound, kind: "User", group: "" };
    const toAccount: Grant = { ...toUser, kind: "ServiceAccount" };
    const users: string[] = [];
    const groups: string[] = [];
    for (const subject of subjectsOf(binding)) {
      const { kind, name } = subject;
      if (kind === "Group") {
        if (hold(this.#groups, { name, grant: { ...toUser, kind, group: name } })) groups.push(name);
        continue;
      }
      const username = kind === "User" ? name : accountUsername(subject);
      if (username === undefined) continue;
      const grant = kind === "User" ? toUser : toAccount;
      if (hold(this.#users, { name: username, grant })) users.push(username);
    }
    this.#bindings.set(bound.name, { bound, users, groups });
  }

  #remove({ bound, users, groups }: IndexedBinding): void {
    this.#bindings.delete(bound.name);
    for (const name of users) release(this.#users, { name, bound });
    for (const name of groups) release(this.#groups, { name, bound });
  }
}

/** The user name of a service account. Undefined for a subject that matches no user. */
function accountUsername({ kind, name, namespace = "" }: Subject): string | undefined {
  if (kind !== "ServiceAccount" || namespace === "") return undefined;
  // Not a template literal: V8 would keep each of its parts as an object of its own.
  return [serviceAccountUsernamePrefix + namespace, name].join(":");
}

/** Adds a grant to a subject. Returns false when the subject already has a grant of this binding: a binding may name a subject twice. */
function hold(
  holdings: Map<string, Holding>,
  { name, grant }: { readonly name: string; readonly grant: Grant },
): boolean {
  const held = holdings.get(name);
  if (held === undefined) {
    holdings.set(name, grant);
    return true;
  }
  if (held instanceof Map) return addByRole(held, grant);
  if (held.binding === grant.binding) return false;
  const byRole = new Map([[held.binding.roleKey, [held]]]);
  holdings.set(name, byRole);
  return addByRole(byRole, grant);
}

function addByRole(byRole: Map<string, Grant[]>, grant: Grant): boolean {
  const { roleKey } = grant.binding;
  const ofRole = byRole.get(roleKey);
  if (ofRole?.at(-1)?.binding === grant.binding) return false;
  if (ofRole === undefined) byRole.set(roleKey, [grant]);
  else ofRole.push(grant);
  return true;
}

function release(
  holdings: Map<string, Holding>,
  { name, bound }: { readonly name: string; readonly bound: BoundRole },
): void {
  const held = holdings.get(name);
  if (!(held instanceof Map)) {
    holdings.delete(name);
    return;
  }
  const ofRole = held.get(bound.roleKey) ?? [];
  // In place: a hundred thousand bindings may grant the same role to the same subject.
  const index = ofRole.findIndex(({ binding }) => binding === bound);
  if (index !== -1) ofRole.splice(index, 1);
  if (ofRole.length === 0) held.delete(bound.roleKey);
  // Not a map of one grant: it would take more memory than the stored bindings, whose limit also limits this index.
  const [grants] = held.size === 1 ? held.values() : [];
  const [last, another] = grants ?? [];
  if (last !== undefined && another === undefined) holdings.set(name, last);
}

/** Adds the first grant of each role to `found`. Returns the number of added grants. */
function addFirstOfEachRole(found: Grant[], held: Holding | undefined): number {
  if (held === undefined) return 0;
  if (!(held instanceof Map)) {
    found.push(held);
    return 1;
  }
  held.forEach((grants) => {
    const first = grants[0]; // a pattern would make an iterator
    if (first !== undefined) found.push(first);
  });
  return held.size;
}

/** Up to so many grants, checking a role twice costs less than finding the duplicates. */
const fewGrants = 16;

function firstOfEachRole(grants: readonly Grant[]): Grant[] {
  const byRole = new Map<string, Grant>();
  for (const grant of grants) {
    const { roleKey } = grant.binding;
    if (!byRole.has(roleKey)) byRole.set(roleKey, grant);
  }
  return [...byRole.values()];
}

function boundRoleOf({ roleRef, metadata: { name = "", namespace = "" } }: RoleBinding): BoundRole {
  const { kind, name: roleName } = roleRef;
  const roleKey = kind === "ClusterRole" ? `${kind}/${roleName}` : `${kind}/${namespace}/${roleName}`;
  return { name, namespace, roleRef, roleKey };
}
