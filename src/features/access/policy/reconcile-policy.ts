import { isDeepStrictEqual } from "node:util";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole, Role } from "../rbac/roles.ts";
import { clusterRoleBindingResource, clusterRoleResource } from "../resources.ts";
import type { SignerGrants } from "./controller-policy.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { readableObject } from "../../../machinery/registry/reads/readable-objects.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { isSameRole } from "../rbac/binding.ts";
import type { Subject } from "../rbac/binding.ts";
import type { NamedResourceType } from "../../../machinery/api/resource-type.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { LabelSelectorObject } from "../../../machinery/api/selectors/label-selector.ts";
import { uncoveredRules } from "../rbac/rule-coverage.ts";

export interface PolicyConnections {
  readonly names: Names;
  readonly stores: Stores;
  /** Must have all permissions: the policy that it writes grants them to others. */
  readonly client: ApiClient;
}

/**
 * Creates missing default roles and bindings, and adds missing rules and subjects to existing ones. When nothing is missing, it only reads
 * the caches. An object that can't be read stays as it is: it grants nothing, and does not prevent the start of the server.
 */
export async function reconcilePolicy(connections: PolicyConnections, signers: readonly SignerGrants[]): Promise<void> {
  const { names, stores, client } = connections;
  const bindings = client.resource(clusterRoleBindingResource(names));
  const policy = bootstrapPolicy(names, signers);

  const keepBinding = async (wanted: RoleBinding): Promise<void> => {
    const { name = "" } = wanted.metadata;
    const existing = readableObject(stores.of(clusterRoleBindingResource), { namespace: "", name });
    if (existing === "unreadable") return;
    if (existing === undefined) {
      await bindings.create(wanted);
      return;
    }
    const change = reconcileBinding(existing, { wanted, names });
    if (change?.action === "update") await bindings.update(change.binding);
    else if (change?.action === "replace") {
      await bindings.delete(name);
      await bindings.create(change.binding);
    }
  };
  await Promise.all([
    ...policy.clusterRoles.map((wanted) => keepRole(connections, { type: clusterRoleResource, wanted })),
    ...policy.clusterRoleBindings.map(keepBinding),
  ]);
}

/** Creates a missing default role, or adds missing rules to it. A role that can't be read stays as it is. */
export async function keepRole<T extends Role | ClusterRole>(
  { names, stores, client }: PolicyConnections,
  { type, wanted }: { readonly type: NamedResourceType<T>; readonly wanted: T },
): Promise<void> {
  const { name = "", namespace = "" } = wanted.metadata;
  const roles = client.resource(type(names), namespace);
  const existing = readableObject(stores.of(type), { namespace, name });
  if (existing === "unreadable") return;
  const next = existing && reconcileRole(existing, { wanted, names });
  if (existing === undefined) await roles.create(wanted);
  else if (next !== undefined) await roles.update(next);
}

/** Whether the server restores an object: yes, unless the object's annotation forbids it. */
const isKept = (names: Names, { metadata }: ApiObject): boolean =>
  spellingsOf(names, (one) => one.subdomainKey("rbac.authorization", "autoupdate")).every(
    (key) => metadata.annotations?.[key] !== "false",
  );

/**
 * Adds the missing rules of the wanted role to the existing one. Undefined when nothing is missing or the annotation
 * forbids it (upstream: `reconciliation.ReconcileRoleOptions`). Never removes rules, so an administrator's additions
 * stay. Existing labels and annotations keep their values.
 */
export function reconcileRole<T extends Role | ClusterRole>(
  existing: T,
  { wanted, names }: { readonly wanted: T; readonly names: Names },
): T | undefined {
  if (!isKept(names, existing)) return undefined;
  const selectors = missingSelectors(existing, wanted);
  const next: T = {
    ...existing,
    metadata: withMissingKeys(existing, wanted),
    // The aggregation controller writes the rules of an aggregated role.
    ...(!isAggregated(wanted) && {
      rules: [...(existing.rules ?? []), ...uncoveredRules(existing.rules ?? [], wanted.rules ?? [])],
    }),
    ...(selectors.length > 0 && {
      aggregationRule: { clusterRoleSelectors: [...selectorsOf(existing), ...selectors] },
    }),
  };
  return isDeepStrictEqual(withRules(next), withRules(existing)) ? undefined : next;
}

/**
 * Adds missing subjects to the existing binding. Undefined when none are missing. The role of a binding cannot be changed, so for a binding
 * of another role the result is `replace`: delete it and create a new one.
 */
export function reconcileBinding(
  existing: RoleBinding,
  { wanted, names }: { readonly wanted: RoleBinding; readonly names: Names },
): { readonly action: "update" | "replace"; readonly binding: RoleBinding } | undefined {
  if (!isKept(names, existing)) return undefined;
  if (!isSameRole(existing.roleRef, { other: wanted.roleRef, names })) return { action: "replace", binding: wanted };
  const subjects = existing.subjects ?? [];
  const isThere = (one: Subject): boolean => subjects.some((other) => isSameSubject(one, { other, names }));
  const missing = (wanted.subjects ?? []).filter((one) => !isThere(one));
  const binding = { ...existing, metadata: withMissingKeys(existing, wanted), subjects: [...subjects, ...missing] };
  return isDeepStrictEqual(binding, { ...existing, subjects }) ? undefined : { action: "update", binding };
}

const isSameSubject = (one: Subject, { other, names }: { readonly other: Subject; readonly names: Names }): boolean =>
  one.kind === other.kind &&
  one.name === other.name &&
  (one.namespace ?? "") === (other.namespace ?? "") &&
  names.ownGroup(one.apiGroup ?? "") === names.ownGroup(other.apiGroup ?? "");

function withMissingKeys(existing: ApiObject, wanted: ApiObject): ApiObject["metadata"] {
  const merged = (key: "labels" | "annotations"): Record<string, string> => ({
    ...wanted.metadata[key],
    ...existing.metadata[key],
  });
  const [labels, annotations] = [merged("labels"), merged("annotations")];
  return {
    ...existing.metadata,
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

const isAggregated = (role: Role | ClusterRole): boolean => selectorsOf(role).length > 0;

const selectorsOf = (role: Role | ClusterRole): LabelSelectorObject[] =>
  "aggregationRule" in role ? (role.aggregationRule?.clusterRoleSelectors ?? []) : [];

const missingSelectors = (existing: Role, wanted: Role): LabelSelectorObject[] =>
  selectorsOf(wanted).filter((one) => !selectorsOf(existing).some((other) => isDeepStrictEqual(one, other)));

/** The role with an empty list instead of `null`, because both mean no rules. */
const withRules = (role: Role): Role => ({ ...role, rules: role.rules ?? [] });
