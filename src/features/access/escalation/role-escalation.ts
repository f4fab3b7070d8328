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
