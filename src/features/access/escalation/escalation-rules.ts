import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ClusterRole, Role } from "../rbac/roles.ts";
import {
  changesOnlyGarbageCollection,
  escalationError,
  fullAuthority,
  isMaster,
  hasEscalationVerb,
} from "./escalation.ts";
import type { EscalationOptions } from "./escalation.ts";
import { notFound } from "../../../machinery/api/api-error.ts";
import { roleResourceOf } from "../rbac/binding.ts";
import type { RoleRef } from "../rbac/binding.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";

/**
 * Users may not write a role with more permissions than they hold in its namespace, not even change its labels
 * (upstream: the policybased storage of roles), unless they have the verb `escalate` for that role. An aggregated role
 * may collect any rules, so writing one requires all permissions.
 */
export function roleEscalation(names: Names, options: EscalationOptions): AdmissionRule {
  const group = names.group("rbac.authorization");
  return {
    name: "RoleEscalation",
    appliesTo: (attributes) =>
      attributes.group === group &&
      (attributes.resource === "roles" || attributes.resource === "clusterroles") &&
      attributes.subresource === "" &&
      attributes.operation !== "DELETE",
    async validate(attributes) {
      const { user, resource, name, object, oldObject } = attributes;
      if (object === undefined || isMaster(user) || changesOnlyGarbageCollection(attributes)) return;
      if (await hasEscalationVerb(options, attributes, { verb: "escalate", resource, name })) return;
      const needsEverything = hasAggregationRule(object) || (oldObject !== undefined && hasAggregationRule(oldObject));
      const refusal =
        (needsEverything ? escalationError(options, attributes, fullAuthority) : undefined) ??
        escalationError(options, attributes, options.ownRules(asRole(object).rules ?? []));
      if (refusal !== undefined) throw refusal;
    },
  };
}

/** The group and resource guarantee the type: the schema decoded it. */
const asRole = (object: ApiObject): Role => object as Role;

const hasAggregationRule = (object: ApiObject): boolean =>
  (asRole(object) as ClusterRole).aggregationRule !== undefined;

interface BindingEscalationOptions extends EscalationOptions {
  /** The rules of the role that a binding in a namespace names. Undefined when the role does not exist. */
  rulesOfRole(roleRef: RoleRef, bindingNamespace: string): readonly PolicyRule[] | undefined;
}

/**
 * Users may not bind a role with more permissions than they hold (upstream: the policybased storage of bindings),
 * unless they have the verb `bind` for that role. A role that does not exist is a 404: its rules cannot be compared.
 */
export function bindingEscalation(names: Names, options: BindingEscalationOptions): AdmissionRule {
  const group = names.group("rbac.authorization");
  return {
    name: "BindingEscalation",
    appliesTo: (attributes) =>
      attributes.group === group &&
      (attributes.resource === "rolebindings" || attributes.resource === "clusterrolebindings") &&
      attributes.subresource === "" &&
      attributes.operation !== "DELETE",
    async validate(attributes) {
      const { user, askedGroup, resource, namespace, object } = attributes;
      if (object === undefined || isMaster(user) || changesOnlyGarbageCollection(attributes)) return;
      const { roleRef } = object as RoleBinding; // the group and resource guarantee it: the schema decoded it
      const bind = { verb: "bind", resource: roleResourceOf(roleRef), name: roleRef.name };
      if (await hasEscalationVerb(options, attributes, bind)) return;
      const rules = options.rulesOfRole(roleRef, namespace);
      if (rules === undefined) throw notFound({ group: askedGroup, resource }, roleRef.name);
      const refusal = escalationError(options, attributes, rules);
      if (refusal !== undefined) throw refusal;
    },
  };
}
