import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { RoleBinding } from "../rbac/role-bindings.ts";
import type { ClusterRole } from "../rbac/roles.ts";
import {
  authenticatedGroup,
  mastersGroup,
  serviceAccountsGroup,
  unauthenticatedGroup,
} from "../../../machinery/api/user-info.ts";
import type { SignerGrants } from "./controller-policy.ts";
import { controllerPolicy } from "./controller-policy.ts";
import { rbacBuilder } from "./rbac-builder.ts";

/** The objects that a server creates at its first start and restores at every later start. */
export interface BootstrapPolicy {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly RoleBinding[];
}

const read = ["get", "list", "watch"];
const write = ["create", "delete", "deletecollection", "patch", "update"];
const healthPaths = ["/livez", "/readyz", "/healthz", "/version", "/version/"];
const discoveryPaths = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", ...healthPaths];
const openIdPaths = [
  "/.well-known/openid-configuration",
  "/.well-known/openid-configuration/",
  "/openid/v1/jwks",
  "/openid/v1/jwks/",
];

/**
 * The default roles and bindings (upstream: `bootstrappolicy`), for the resources of this server. `signers`: the
 * signers that get an approver role or permissions for the controllers.
 */
export function bootstrapPolicy(names: Names, signers: readonly SignerGrants[] = []): BootstrapPolicy {
  const { clusterRole, aggregatedRole, aggregatedPart, clusterRoleBinding, group, ruleIn, paths } = rbacBuilder(names);
  const certificates = names.group("certificates");
  const inCore = ruleIn("");
  const inCertificates = ruleIn(certificates);
  const inAuthentication = ruleIn(names.group("authentication"));
  const inAuthorization = ruleIn(names.group("authorization"));
  const inCoordination = ruleIn(names.group("coordination"));
  const inRbac = ruleIn(names.group("rbac.authorization"));
  const inStorage = ruleIn(names.group("storage"));
  const inSignet = ruleIn(names.group("signet"));
  const inEvents = names.hasUpstreamVersions ? ruleIn("", names.group("events")) : inCore;
  const inEveryGroup = ruleIn("*");
  const csr = "certificatesigningrequests";
  const certificateRole = (suffix: string): string => `system:certificates.${groupDomainOf(certificates)}:${suffix}`;
  const approver = ({ name }: SignerGrants): ClusterRole =>
    clusterRole(certificateRole(`${roleWordOf(name)}-approver`), [
      { ...inCertificates(["approve"], ["signers"]), resourceNames: [name] },
    ]);

  // In each spelling: guides to joining machines bind them by name.
  const nodeClientRoles = spellingsOf(names, (one) => groupDomainOf(one.group("certificates"))).flatMap((domain) =>
    ["nodeclient", "selfnodeclient"].map((subresource) =>
      clusterRole(`system:certificates.${domain}:${csr}:${subresource}`, [
        inCertificates(["create"], [`${csr}/${subresource}`]),
      ]),
    ),
  );

  const clusterRoles = [
    clusterRole("cluster-admin", [inEveryGroup(["*"], ["*"]), paths(["*"], ["*"])]),
    clusterRole("system:discovery", [paths(["get"], discoveryPaths)]),
    clusterRole("system:public-info-viewer", [paths(["get"], healthPaths)]),
    clusterRole("system:monitoring", [
      paths(["get"], ["/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/readyz", "/readyz/*"]),
    ]),
    clusterRole("system:basic-user", [
      inAuthorization(["create"], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
      inAuthentication(["create"], ["selfsubjectreviews"]),
    ]),
    clusterRole("system:service-account-issuer-discovery", [paths(["get"], openIdPaths)]),
    clusterRole("system:auth-delegator", [
      inAuthentication(["create"], ["tokenreviews"]),
      inAuthorization(["create"], ["subjectaccessreviews"]),
    ]),
    clusterRole("system:cluster-trust-bundle-discovery", [inCertificates(read, ["clustertrustbundles"])]),
    aggregatedRole("admin"),
    aggregatedRole("edit", { partOf: "admin" }),
    aggregatedRole("view", { partOf: "edit" }),
    aggregatedPart("admin", [
      inAuthorization(["create"], ["localsubjectaccessreviews"]),
      inRbac([...read, ...write], ["roles", "rolebindings"]),
    ]),
    aggregatedPart("edit", [
      inCore(read, ["secrets"]),
      inCore(["impersonate"], ["serviceaccounts"]),
      inCore(write, ["configmaps", "pods", "secrets", "serviceaccounts"]),
      inCore(["create"], ["pods/eviction"]),
      inCore(["create"], ["serviceaccounts/token"]),
      inEvents(write, ["events"]),
      inCoordination([...read, ...write], ["leases"]),
    ]),
    aggregatedPart("view", [
      inCore(read, ["configmaps", "namespaces", "namespaces/status", "pods", "pods/status", "serviceaccounts"]),
      inEvents(read, ["events"]),
    ]),
    clusterRole("system:node", [
      inAuthentication(["create"], ["tokenreviews"]),
      inAuthorization(["create"], ["subjectaccessreviews", "localsubjectaccessreviews"]),
      inCore(["create", ...read], ["nodes"]),
      inCore(["update", "patch"], ["nodes", "nodes/status"]),
      inCore(read, ["pods"]),
      inCore(["create", "delete"], ["pods"]),
      inCore(["update", "patch"], ["pods/status"]),
      inCore(["create"], ["pods/eviction"]),
      inCore(read, ["secrets", "configmaps"]),
      inEvents(["create", "update", "patch"], ["events"]),
      inCertificates(["create", ...read], [csr]),
      inCoordination(["get", "create", "update", "patch", "delete"], ["leases"]),
      inCore(["create"], ["serviceaccounts/token"]),
      inCertificates(read, ["clustertrustbundles"]),
      inCore(["get"], ["serviceaccounts"]),
      // There are no Services, but a kubelet starts no container before it has read them.
      inCore(read, ["services"]),
      inStorage(["get", "create", "update", "patch", "delete"], ["csinodes"]),
    ]),
    clusterRole("system:node-bootstrapper", [inCertificates(["create", ...read], [csr])]),
    ...nodeClientRoles,
    ...signers.filter(({ hasApproverRole }) => hasApproverRole).map(approver),
    clusterRole("system:certificate-auditor", [
      inSignet(read, ["issuedcertificates"]),
      inCertificates(read, [csr, "clustertrustbundles"]),
    ]),
  ];

  const toGroups = (name: string, ...groups: readonly string[]): RoleBinding =>
    clusterRoleBinding(name, groups.map(group));
  const clusterRoleBindings = [
    toGroups("cluster-admin", mastersGroup),
    toGroups("system:monitoring", "system:monitoring"),
    toGroups("system:discovery", authenticatedGroup),
    toGroups("system:basic-user", authenticatedGroup),
    toGroups("system:public-info-viewer", authenticatedGroup, unauthenticatedGroup),
    toGroups("system:service-account-issuer-discovery", serviceAccountsGroup),
    // The document lets every authenticated user read trust bundles. Upstream lets service accounts alone.
    toGroups("system:cluster-trust-bundle-discovery", authenticatedGroup, serviceAccountsGroup),
    clusterRoleBinding("system:node", []),
  ];

  const controllers = controllerPolicy(names, signers);
  return {
    clusterRoles: [...clusterRoles, controllers.clusterRole],
    clusterRoleBindings: [...clusterRoleBindings, controllers.clusterRoleBinding],
  };
}

/** Returns `k8s.io` for `certificates.k8s.io`. */
const groupDomainOf = (group: string): string => group.slice(group.indexOf(".") + 1);

/** `signer-name` of `example.com/signer-name`. */
const roleWordOf = (signer: string): string => signer.slice(signer.indexOf("/") + 1);
