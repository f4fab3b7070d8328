import type { Names } from "../../../machinery/api/names.ts";
import type { PolicyRule } from "../rbac/policy-rule.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole } from "../rbac/roles.ts";
import { rbacBuilder } from "./rbac-builder.ts";

/** The default permissions for a signer. */
export interface SignerGrants {
  readonly name: string;
  /** Whether a default role allows approving requests for the signer. */
  readonly hasApproverRole: boolean;
  /** What the controllers may do for the signer. */
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
  const builder = rbacBuilder(names);
  const { inCore, inCertificates, inAuthentication, inAuthorization, inCoordination, inRbac, inSignet, inEveryGroup } =
    builder;
  const forSigners = (verb: SignerGrants["controllerVerbs"][number]): PolicyRule[] => {
    const signerNames = signers.filter(({ controllerVerbs }) => controllerVerbs.includes(verb)).map(({ name }) => name);
    // A rule without names would apply to every signer.
    return signerNames.length === 0 ? [] : [{ ...inCertificates([verb], ["signers"]), resourceNames: signerNames }];
  };
  const csr = "certificatesigningrequests";
  const username = controllerManagerUsername(names);

  const rules = [
    // garbage collection and termination of namespaces
    inEveryGroup(["get", "list", "watch", "patch", "update", "delete", "deletecollection"], ["*"]),
    inCore(["update"], ["namespaces/finalize", "namespaces/status"]),
    // default accounts, root CA ConfigMaps, token Secrets
    inCore(["create"], ["serviceaccounts", "configmaps", "secrets"]),
    // approval, signing and cleaning of certificate requests; an approval policy may name every signer with a CA here
    inCertificates(["update", "patch"], [`${csr}/approval`, `${csr}/status`]),
    inAuthorization(["create"], ["subjectaccessreviews"]),
    ...forSigners("approve"),
    ...forSigners("sign"),
    // the inventory of issued certificates
    inSignet(["create"], ["issuedcertificates"]),
    // events on requests without a signer
    inCore(["create"], ["events"]),
    // trust bundles of the signers
    inCertificates(["create"], ["clustertrustbundles"]),
    ...forSigners("attest"),
    // aggregation copies rules that the controller does not hold
    inRbac(["escalate"], ["clusterroles"]),
    // leader election
    inCoordination(["create"], ["leases"]),
    // kube-controller-manager, which may replace these controllers, checks who reads its metrics
    inAuthentication(["create"], ["tokenreviews"]),
  ];
  return {
    clusterRole: builder.clusterRole(username, rules),
    clusterRoleBinding: builder.clusterRoleBinding(username, [builder.user(username)]),
  };
}
