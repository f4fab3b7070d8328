import { invalid } from "../../machinery/api/api-error.ts";
import type { AdmissionAttributes, AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import { isSemanticallyEqual } from "../../machinery/api/json-equality.ts";
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

/** Rules of the operator for writes, in CEL: ValidatingAdmissionPolicies and their bindings. */
export const admissionKinds = [kind(validatingAdmissionPolicies), kind(validatingAdmissionPolicyBindings)] as const;

export interface AdmissionConnection {
  readonly names: Names;
  readonly stores: Stores;
  readonly authorize: Authorize;
  /** Whose writes no policy is asked about: the server's own, without which it could not start. */
  isExempt(user: UserInfo): boolean;
  readonly observer: PolicyObserver;
  /** Called when the code of policies could not be loaded. Writes fail then. */
  readonly onFailure: (error: unknown) => void;
}

export interface ConnectedAdmission {
  readonly admission: Readonly<
    Record<"policyExpressions" | "paramPermission" | "validatingAdmissionPolicy", AdmissionRule>
  >;
}

/**
 * Knows every policy that is stored, compiled, when it resolves. Call it after the registries have started. CEL is loaded with
 * the first policy.
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
 * As upstream: policies cannot make themselves unchangeable, and reviews are asked by the server itself. Subresources that are
 * created, such as a token, are checked.
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
      // What is stored may be from another version, and must stay writable otherwise.
      if (oldObject !== undefined && isSemanticallyEqual((oldObject as ValidatingAdmissionPolicy).spec, spec)) return;
      const { compilePolicy } = await import("./evaluation/compile-policy.ts");
      const { faults } = compilePolicy(spec);
      if (faults.length > 0) throw invalid({ group: requestedGroup, resource: policyKind }, { name, faults });
    },
  };
}
