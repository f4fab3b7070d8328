import { notFound } from "../../../machinery/api/api-error.ts";
import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { roleResourceOf } from "../rbac-types.ts";
import type { PolicyRule, RoleBinding, RoleRef } from "../rbac-types.ts";
import { changesOnlyGarbageCollection, escalationOf, isMaster, mayDoAnyway } from "./escalation.ts";
import type { EscalationOptions } from "./escalation.ts";

export interface BindingEscalationOptions extends EscalationOptions {
  /** The rules of the role that a binding in a namespace names; undefined when there is none. */
  rulesOfRole(roleRef: RoleRef, bindingNamespace: string): readonly PolicyRule[] | undefined;
}

/**
 * Nobody binds a role with more rights than they hold (upstream: the policybased storage of bindings), unless they may
 * `bind` that role. A role that does not exist is a 404 for them: they cannot be found to hold its rules.
 */
export function bindingEscalation(names: Names, options: BindingEscalationOptions): AdmissionRule {
  const group = names.group("rbac.authorization");
  return {
    name: "BindingEscalation",
    async validate(attributes) {
      const { operation, user, resource, subresource, namespace, object } = attributes;
      const isBinding =
        attributes.group === group && (resource === "rolebindings" || resource === "clusterrolebindings");
      if (!isBinding || subresource !== "" || operation === "DELETE" || object === undefined || isMaster(user)) return;
      if (changesOnlyGarbageCollection(attributes)) return;
      const { roleRef } = object as RoleBinding; // by group and resource it is one: the schema has decoded it
      const bind = { verb: "bind", resource: roleResourceOf(roleRef), name: roleRef.name };
      if (await mayDoAnyway(options, attributes, bind)) return;
      const rules = options.rulesOfRole(roleRef, namespace);
      if (rules === undefined) throw notFound({ group, resource }, roleRef.name);
      const refusal = escalationOf(options, attributes, rules);
      if (refusal !== undefined) throw refusal;
    },
  };
}
