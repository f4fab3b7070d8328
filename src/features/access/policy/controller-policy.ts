import type { Names } from "../../../machinery/api/names.ts";
import type { ClusterRole, RoleBinding } from "../rbac-types.ts";
import { rbacBuilder } from "./rbac-builder.ts";

/** The user of the controllers, and the name of their role. */
export const controllerManagerUsername = (names: Names): string =>
  `system:${names.namespaces.system.replace(/-system$/, "")}-controller-manager`;

/**
 * The permissions of all controllers together: they share one identity (upstream has one per controller). The garbage
 * collector and the namespace controller must be able to delete any object. Every other permission is as narrow as the
 * work needs.
 */
export function controllerPolicy(names: Names): { clusterRole: ClusterRole; clusterRoleBinding: RoleBinding } {
  const { clusterRole, clusterRoleBinding, rule, user } = rbacBuilder(names);
  const certificates = names.group("certificates");
  const rbacGroup = names.group("rbac.authorization");
  const { apiserverClient, apiserverClientNodeAgent, nodeAgentServing, legacyUnknown } = names.signers;
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
    rule(["approve"], [certificates], ["signers"], [apiserverClient, apiserverClientNodeAgent, nodeAgentServing]),
    rule(
      ["sign"],
      [certificates],
      ["signers"],
      [apiserverClient, apiserverClientNodeAgent, nodeAgentServing, legacyUnknown],
    ),
    // the inventory of issued certificates
    rule(["create"], [names.group("signet")], ["issuedcertificates"]),
    // trust bundles of the signers
    rule(["create"], [certificates], ["clustertrustbundles"]),
    rule(["attest"], [certificates], ["signers"], [apiserverClient, apiserverClientNodeAgent, nodeAgentServing]),
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
