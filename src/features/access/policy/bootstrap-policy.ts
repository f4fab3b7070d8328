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
import type { RbacBuilder } from "./rbac-builder.ts";

/** The objects that a server creates at its first start and restores at every later start. */
interface BootstrapPolicy {
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
  const builder = rbacBuilder(names);
  const controllers = controllerPolicy(names, signers);
  return {
    clusterRoles: [
      ...rolesOfUsers(builder),
      ...aggregatedRoles(builder),
      ...rolesOfNodes(builder),
      ...rolesForCertificates(builder, { names, signers }),
      controllers.clusterRole,
    ],
    clusterRoleBindings: [...bindingsOfGroups(builder), controllers.clusterRoleBinding],
  };
}

const rolesOfUsers = ({
  clusterRole,
  paths,
  inEveryGroup,
  inAuthentication,
  inAuthorization,
  inCertificates,
}: RbacBuilder): readonly ClusterRole[] => [
  clusterRole("cluster-admin", [inEveryGroup(["*"], ["*"]), paths(["*"], ["*"])]),
  clusterRole("system:discovery", [paths(["get"], discoveryPaths)]),
  clusterRole("system:public-info-viewer", [paths(["get"], healthPaths)]),
  clusterRole("system:monitoring", [
    paths(
      ["get"],
      ["/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz", "/readyz/*"],
    ),
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
];

/** The roles `admin`, `edit` and `view`, which collect the rules of the roles with their labels, and this server's own parts of them. */
const aggregatedRoles = ({
  aggregatedRole,
  aggregatedPart,
  inCore,
  inEvents,
  inAuthorization,
  inCoordination,
  inRbac,
}: RbacBuilder): readonly ClusterRole[] => [
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
];

const rolesOfNodes = ({
  clusterRole,
  inCore,
  inEvents,
  inAuthentication,
  inAuthorization,
  inCertificates,
  inCoordination,
  inSignet,
  inStorage,
}: RbacBuilder): readonly ClusterRole[] => [
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
    inCertificates(["create", ...read], ["certificatesigningrequests"]),
    inCoordination(["get", "create", "update", "patch", "delete"], ["leases"]),
    inCore(["create"], ["serviceaccounts/token"]),
    inCertificates(read, ["clustertrustbundles"]),
    inCore(["get"], ["serviceaccounts"]),
    // This server has no Services, but a kubelet starts no container before it has read them.
    inCore(read, ["services"]),
    inStorage(["get", "create", "update", "patch", "delete"], ["csinodes"]),
    inSignet(["create"], ["certificatereviews"]),
  ]),
  clusterRole("system:node-bootstrapper", [inCertificates(["create", ...read], ["certificatesigningrequests"])]),
];

/** Who may request, approve and read certificates. */
function rolesForCertificates(
  { clusterRole, inCertificates, inSignet }: RbacBuilder,
  { names, signers }: { readonly names: Names; readonly signers: readonly SignerGrants[] },
): readonly ClusterRole[] {
  const domain = groupDomainOf(names.group("certificates"));
  // Both spellings exist, because guides for joining machines bind these roles by name.
  const nodeClientRoles = spellingsOf(names, (one) => groupDomainOf(one.group("certificates"))).flatMap((spelling) =>
    ["nodeclient", "selfnodeclient"].map((subresource) =>
      clusterRole(`system:certificates.${spelling}:certificatesigningrequests:${subresource}`, [
        inCertificates(["create"], [`certificatesigningrequests/${subresource}`]),
      ]),
    ),
  );
  const approverRoles = signers
    .filter(({ hasApproverRole }) => hasApproverRole)
    .map(({ name }) =>
      clusterRole(`system:certificates.${domain}:${roleWordOf(name)}-approver`, [
        { ...inCertificates(["approve"], ["signers"]), resourceNames: [name] },
      ]),
    );
  return [
    ...nodeClientRoles,
    ...approverRoles,
    clusterRole("system:certificate-auditor", [
      inSignet(read, ["issuedcertificates"]),
      inCertificates(read, ["certificatesigningrequests", "clustertrustbundles"]),
    ]),
  ];
}

function bindingsOfGroups({ clusterRoleBinding, group }: RbacBuilder): readonly RoleBinding[] {
  const toGroups = (name: string, ...groups: readonly string[]): RoleBinding =>
    clusterRoleBinding(name, groups.map(group));
  return [
    toGroups("cluster-admin", mastersGroup),
    toGroups("system:monitoring", "system:monitoring"),
    toGroups("system:discovery", authenticatedGroup),
    toGroups("system:basic-user", authenticatedGroup),
    toGroups("system:public-info-viewer", authenticatedGroup, unauthenticatedGroup),
    toGroups("system:service-account-issuer-discovery", serviceAccountsGroup),
    // The document lets every authenticated user read trust bundles. Upstream lets only service accounts.
    toGroups("system:cluster-trust-bundle-discovery", authenticatedGroup, serviceAccountsGroup),
    clusterRoleBinding("system:node", []),
  ];
}

/** The domain of a group: `k8s.io` for `certificates.k8s.io`. */
const groupDomainOf = (group: string): string => group.slice(group.indexOf(".") + 1);

/** The last part of a signer's name: `signer-name` for `example.com/signer-name`. */
const roleWordOf = (signer: string): string => signer.slice(signer.indexOf("/") + 1);
