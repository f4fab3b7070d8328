import { invalid } from "../../machinery/api/api-error.ts";
import type { AdmissionAttributes, AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import type { PolicyDecisions, PolicyObserver } from "./evaluation/policy-decisions.ts";
import { KnownPolicies } from "./known-policies.ts";
import { paramPermission } from "./param-permission.ts";
import type { ValidatingAdmissionPolicy } from "./policies/policy-schema.ts";
import { validatingAdmissionPolicies } from "./policies/validating-admission-policies.ts";
import { validatingAdmissionPolicyBindings } from "./policies/validating-admission-policy-bindings.ts";
import { policyResource } from "./resources.ts";

export type { PolicyObserver } from "./evaluation/policy-decisions.ts";

/** The operator's rules for writes, in CEL: ValidatingAdmissionPolicies and their bindings. */
export const admissionKinds = [kind(validatingAdmissionPolicies), kind(validatingAdmissionPolicyBindings)] as const;

export interface AdmissionConnection {
  readonly names: Names;
  readonly stores: Stores;
  readonly authorize: Authorize;
  /** Whether no policy applies to a user's writes: the server's own, because it could not start otherwise. */
  isExempt(user: UserInfo): boolean;
  readonly observer: PolicyObserver;
  /** Called when the code for policies could not be loaded. Writes fail then. */
  readonly onFailure: (error: unknown) => void;
}

export interface ConnectedAdmission {
  readonly admission: Readonly<
    Record<"policyExpressions" | "paramPermission" | "validatingAdmissionPolicy", AdmissionRule>
  >;
}

/**
 * Resolves when every policy with a binding is loaded and compiled. Call it after the registries have started. CEL is loaded when there is
 * a binding, or when a policy is written.
 */
export async function connectAdmission(connection: AdmissionConnection): Promise<ConnectedAdmission> {
  const { names, stores, authorize, observer } = connection;
  let loading: Promise<PolicyDecisions> | undefined;
  const known = new KnownPolicies(stores, () => {
    if (known.areBound) prepare().catch(connection.onFailure);
  });
  const load = async (): Promise<PolicyDecisions> => {
    const { PolicyDecisions: Decisions } = await import("./evaluation/policy-decisions.ts");
    return new Decisions({ names, stores, authorize, known, observer });
  };
  const decisions = (): Promise<PolicyDecisions> => (loading ??= load());
  const prepare = async (): Promise<void> => (await decisions()).prepare();
  if (known.areBound) await prepare();
  return {
    admission: {
      policyExpressions: policyExpressions(names),
      paramPermission: paramPermission({ names, stores, authorize }),
      validatingAdmissionPolicy: {
        name: "ValidatingAdmissionPolicy",
        appliesTo: (attributes) =>
          known.areBound && !isPolicyOrReview(names, attributes) && !connection.isExempt(attributes.user),
        validate: async (attributes) => (await decisions()).decide(attributes),
      },
    },
  };
}

/**
 * Whether policies do not apply to a resource, as in upstream: a policy must not prevent its own change, and the server itself sends
 * reviews. Other objects that are created through subresources, such as tokens, are checked.
 */
function isPolicyOrReview(names: Names, { group, resource }: AdmissionAttributes): boolean {
  return (
    group === names.group("admissionregistration") ||
    group === names.group("authorization") ||
    (group === names.group("authentication") && (resource === "tokenreviews" || resource === "selfsubjectreviews"))
  );
}

/** Refuses policies whose expressions cannot be compiled. */
function policyExpressions(names: Names): AdmissionRule {
  const { group, plural, kind: policyKind } = policyResource(names);
  return {
    name: "ValidatingAdmissionPolicyExpressions",
    appliesTo: (attributes) =>
      attributes.group === group &&
      attributes.resource === plural &&
      attributes.subresource === "" &&
      attributes.operation !== "DELETE",
    async validate({ object, oldObject, requestedGroup, name }) {
      const { spec } = object as ValidatingAdmissionPolicy; // the kind's registry decoded it
      // A stored policy may be from another version, and must stay writable otherwise.
      if (oldObject !== undefined && isSemanticallyEqual((oldObject as ValidatingAdmissionPolicy).spec, spec)) return;
      const { compilePolicy } = await import("./evaluation/compile-policy.ts");
      const { faults } = compilePolicy(spec);
      if (faults.length > 0) throw invalid({ group: requestedGroup, resource: policyKind }, { name, faults });
    },
  };
}
