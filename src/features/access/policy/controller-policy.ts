import type { Names } from "../../../machinery/api/names.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole } from "../rbac/roles.ts";
import { rbacBuilder } from "./rbac-builder.ts";

/** The default permissions for a signer. */
export interface SignerGrants {
  readonly name: string;
  /** Whether there is a default role that allows approving its requests. */
  readonly hasApproverRole: boolean;
  /** What the controllers may do for it. */
  readonly controllerVerbs: readonly ("approve" | "sign" | "attest")[];
}

/** The user name of the controllers. Their role has the same name. */
export const controllerManagerUsername = (names: Names): string =>
  `system:${names.namespaces.system.replace(/-system$/, "")}-controller-manager`;

/**
 * The permissions of all controllers together: they share one identity (upstream has one per controller). The garbage
 * collector and the namespace controller must be able to delete any object. Every other permission is as narrow as the
 * work needs.
 */
export function controllerPolicy(
  names: Names,
  signers: readonly SignerGrants[],
): { clusterRole: ClusterRole; clusterRoleBinding: RoleBinding } {
  const { clusterRole, clusterRoleBinding, rule, user } = rbacBuilder(names);
  const certificates = names.group("certificates");
  const rbacGroup = names.group("rbac.authorization");
  const forSigners = (verb: SignerGrants["controllerVerbs"][number]): PolicyRule[] => {
    const signerNames = signers.filter(({ controllerVerbs }) => controllerVerbs.includes(verb)).map(({ name }) => name);
    // A rule without names would apply to every signer.
    return signerNames.length === 0 ? [] : [rule([verb], [certificates], ["signers"], signerNames)];
  };
  const csr = "certificatesigningrequests";
  const username = controllerManagerUsername(names);

  const rules = [
    // garbage collection and termination of namespaces
    rule(["get", "list", "watch", "patch", "update", "delete", "deletecollection"], ["*"], ["*"]),
    rule(["update"], [""], ["namespaces/finalize", "namespaces/status"]),
    // default accounts, root CA ConfigMaps, token Secrets
    rule(["create"], [""], ["serviceaccounts", "configmaps", "secrets"]),
    // approval, signing and cleaning of certificate requests; an approval policy may name every signer whose CA is here
    rule(["update", "patch"], [certificates], [`${csr}/approval`, `${csr}/status`]),
    rule(["create"], [names.group("authorization")], ["subjectaccessreviews"]),
    ...forSigners("approve"),
    ...forSigners("sign"),
    // the inventory of issued certificates
    rule(["create"], [names.group("signet")], ["issuedcertificates"]),
    // events on requests without a signer
    rule(["create"], [""], ["events"]),
    // trust bundles of the signers
    rule(["create"], [certificates], ["clustertrustbundles"]),
    ...forSigners("attest"),
    // aggregation copies rules that the controller does not hold
    rule(["escalate"], [rbacGroup], ["clusterroles"]),
    // leader election
    rule(["create"], [names.group("coordination")], ["leases"]),
  ];
  return {
    clusterRole: clusterRole(username, rules),
    clusterRoleBinding: clusterRoleBinding(username, username, [user(username)]),
  };
}
