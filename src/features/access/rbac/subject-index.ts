import { serviceAccountUsernamePrefix } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { RoleRef, Subject } from "./binding.ts";
import type { RoleBinding } from "./role-bindings.ts";
import { subjectsOf } from "./subjects-of.ts";

/** A binding without its subjects, of which there may be thousands. */
interface BoundRole {
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
type SubjectGrants = Grant | Map<string, Grant[]>;

interface IndexedBinding {
  readonly bound: BoundRole;
  /** The names in #users and #groups that have the binding. */
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** The bindings of one namespace, by their subjects. Each subject takes about 100 bytes. */
export class SubjectIndex {
  readonly #bindings = new Map<string, IndexedBinding>();
  readonly #users = new Map<string, SubjectGrants>();
  readonly #groups = new Map<string, SubjectGrants>();

  get isEmpty(): boolean {
    return this.#bindings.size === 0;
  }

  /**
   * The grants of a user. Of many grants, returns only one for each role, because a review may repeat a group thousands of times, or name
   * thousands of groups with the same roles.
   */
  grants(user: UserInfo): Grant[] {
    const found: Grant[] = [];
    let subjects = addFirstOfEachRole(found, this.#users.get(user.username)) ? 1 : 0;
    const groups = user.groups.length > fewGrants ? new Set(user.groups) : user.groups;
    for (const group of groups) if (addFirstOfEachRole(found, this.#groups.get(group))) subjects += 1;
    // One subject adds each role once.
    return found.length > fewGrants && subjects > 1 ? firstOfEachRole(found) : found;
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
        if (addGrant(this.#groups, { name, grant: { ...toUser, kind, group: name } })) groups.push(name);
        continue;
      }
      const username = kind === "User" ? name : accountUsername(subject);
      if (username === undefined) continue;
      const grant = kind === "User" ? toUser : toAccount;
      if (addGrant(this.#users, { name: username, grant })) users.push(username);
    }
    this.#bindings.set(bound.name, { bound, users, groups });
  }

  #remove({ bound, users, groups }: IndexedBinding): void {
    this.#bindings.delete(bound.name);
    for (const name of users) removeGrant(this.#users, { name, bound });
    for (const name of groups) removeGrant(this.#groups, { name, bound });
  }
}

/** The user name of a service account. Undefined for a subject that matches no user. */
function accountUsername({ kind, name, namespace = "" }: Subject): string | undefined {
  if (kind !== "ServiceAccount" || namespace === "") return undefined;
  // Not a template literal: V8 would keep each of its parts as an object of its own.
  return [serviceAccountUsernamePrefix + namespace, name].join(":");
}

/** Adds a grant to a subject. Returns false when the subject already has a grant of this binding: a binding may name a subject twice. */
function addGrant(
  bySubject: Map<string, SubjectGrants>,
  { name, grant }: { readonly name: string; readonly grant: Grant },
): boolean {
  const granted = bySubject.get(name);
  if (granted === undefined) {
    bySubject.set(name, grant);
    return true;
  }
  if (granted instanceof Map) return addByRole(granted, grant);
  if (granted.binding === grant.binding) return false;
  const byRole = new Map([[granted.binding.roleKey, [granted]]]);
  bySubject.set(name, byRole);
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

function removeGrant(
  bySubject: Map<string, SubjectGrants>,
  { name, bound }: { readonly name: string; readonly bound: BoundRole },
): void {
  const granted = bySubject.get(name);
  if (!(granted instanceof Map)) {
    bySubject.delete(name);
    return;
  }
  const ofRole = granted.get(bound.roleKey) ?? [];
  // In place: a hundred thousand bindings may grant the same role to the same subject.
  const index = ofRole.findIndex(({ binding }) => binding === bound);
  if (index !== -1) ofRole.splice(index, 1);
  if (ofRole.length === 0) granted.delete(bound.roleKey);
  // Not a map of one grant: it would take more memory than the stored bindings, whose limit also limits this index.
  const [grants] = granted.size === 1 ? granted.values() : [];
  const [last, another] = grants ?? [];
  if (last !== undefined && another === undefined) bySubject.set(name, last);
}

/** Adds the first grant of each role to `found`. Returns whether the subject has any grant. */
function addFirstOfEachRole(found: Grant[], granted: SubjectGrants | undefined): boolean {
  if (granted === undefined) return false;
  if (!(granted instanceof Map)) {
    found.push(granted);
    return true;
  }
  granted.forEach((grants) => {
    const first = grants[0]; // a pattern would make an iterator
    if (first !== undefined) found.push(first);
  });
  return true;
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
