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
  const { clusterRole, aggregatedRole, clusterRoleBinding, group, rule, paths } = rbacBuilder(names);
  const certificates = names.group("certificates");
  const authentication = names.group("authentication");
  const authorization = names.group("authorization");
  const coordination = names.group("coordination");
  const rbacGroup = names.group("rbac.authorization");
  const eventGroups = names.hasUpstreamVersions ? ["", names.group("events")] : [""];
  const aggregateTo = (role: string): Record<string, string> => ({
    [`${rbacGroup}/aggregate-to-${role}`]: "true",
  });
  /** Roles with the label in either spelling are part of the aggregated one. */
  const aggregatedBy = (role: string): readonly Record<string, string>[] =>
    spellingsOf(names, (one) => ({ [`${one.group("rbac.authorization")}/aggregate-to-${role}`]: "true" }));
  const csr = "certificatesigningrequests";
  const certificateRole = (suffix: string): string => `system:certificates.${groupDomainOf(certificates)}:${suffix}`;
  const approver = ({ name }: SignerGrants): ClusterRole =>
    clusterRole(certificateRole(`${roleWordOf(name)}-approver`), [
      rule(["approve"], [certificates], ["signers"], [name]),
    ]);

  const clusterRoles = [
    clusterRole("cluster-admin", [rule(["*"], ["*"], ["*"]), paths(["*"], ["*"])]),
    clusterRole("system:discovery", [paths(["get"], discoveryPaths)]),
    clusterRole("system:public-info-viewer", [paths(["get"], healthPaths)]),
    clusterRole("system:monitoring", [
      paths(["get"], ["/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/readyz", "/readyz/*"]),
    ]),
    clusterRole("system:basic-user", [
      rule(["create"], [authorization], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
      rule(["create"], [authentication], ["selfsubjectreviews"]),
    ]),
    clusterRole("system:service-account-issuer-discovery", [paths(["get"], openIdPaths)]),
    clusterRole("system:auth-delegator", [
      rule(["create"], [authentication], ["tokenreviews"]),
      rule(["create"], [authorization], ["subjectaccessreviews"]),
    ]),
    clusterRole("system:cluster-trust-bundle-discovery", [rule(read, [certificates], ["clustertrustbundles"])]),
    aggregatedRole("admin", aggregatedBy("admin")),
    aggregatedRole("edit", aggregatedBy("edit"), aggregateTo("admin")),
    aggregatedRole("view", aggregatedBy("view"), aggregateTo("edit")),
    clusterRole(
      "system:aggregate-to-admin",
      [
        rule(["create"], [authorization], ["localsubjectaccessreviews"]),
        rule([...read, ...write], [rbacGroup], ["roles", "rolebindings"]),
      ],
      aggregateTo("admin"),
    ),
    clusterRole(
      "system:aggregate-to-edit",
      [
        rule(read, [""], ["secrets"]),
        rule(["impersonate"], [""], ["serviceaccounts"]),
        rule(write, [""], ["configmaps", "pods", "secrets", "serviceaccounts"]),
        rule(["create"], [""], ["serviceaccounts/token"]),
        rule([...read, ...write], [coordination], ["leases"]),
      ],
      aggregateTo("edit"),
    ),
    clusterRole(
      "system:aggregate-to-view",
      [
        rule(
          read,
          [""],
          ["configmaps", "events", "namespaces", "namespaces/status", "pods", "pods/status", "serviceaccounts"],
        ),
      ],
      aggregateTo("view"),
    ),
    clusterRole("system:node", [
      rule(["create"], [authentication], ["tokenreviews"]),
      rule(["create"], [authorization], ["subjectaccessreviews", "localsubjectaccessreviews"]),
      rule(["create", ...read], [""], ["nodes"]),
      rule(["update", "patch"], [""], ["nodes", "nodes/status"]),
      rule(read, [""], ["pods"]),
      rule(["create", "delete"], [""], ["pods"]),
      rule(["update", "patch"], [""], ["pods/status"]),
      rule(read, [""], ["secrets", "configmaps"]),
      rule(["create", "update", "patch"], eventGroups, ["events"]),
      rule(["create", ...read], [certificates], [csr]),
      rule(["get", "create", "update", "patch", "delete"], [coordination], ["leases"]),
      rule(["create"], [""], ["serviceaccounts/token"]),
      rule(read, [certificates], ["clustertrustbundles"]),
      rule(["get"], [""], ["serviceaccounts"]),
    ]),
    clusterRole("system:node-bootstrapper", [rule(["create", ...read], [certificates], [csr])]),
    clusterRole(certificateRole(`${csr}:nodeclient`), [rule(["create"], [certificates], [`${csr}/nodeclient`])]),
    clusterRole(certificateRole(`${csr}:selfnodeclient`), [
      rule(["create"], [certificates], [`${csr}/selfnodeclient`]),
    ]),
    ...signers.filter(({ hasApproverRole }) => hasApproverRole).map(approver),
    clusterRole("system:certificate-auditor", [
      rule(read, [names.group("signet")], ["issuedcertificates"]),
      rule(read, [certificates], [csr, "clustertrustbundles"]),
    ]),
  ];

  const toGroups = (name: string, ...groups: readonly string[]): RoleBinding =>
    clusterRoleBinding(name, name, groups.map(group));
  const clusterRoleBindings = [
    toGroups("cluster-admin", mastersGroup),
    toGroups("system:monitoring", "system:monitoring"),
    toGroups("system:discovery", authenticatedGroup),
    toGroups("system:basic-user", authenticatedGroup),
    toGroups("system:public-info-viewer", authenticatedGroup, unauthenticatedGroup),
    toGroups("system:service-account-issuer-discovery", serviceAccountsGroup),
    toGroups("system:cluster-trust-bundle-discovery", authenticatedGroup, serviceAccountsGroup),
    clusterRoleBinding("system:node", "system:node", []),
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
