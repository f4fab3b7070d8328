import type { Names } from "../api/names.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { CertificateSigningRequest } from "../../features/certificates/requests/certificate-signing-request-schema.ts";
import type { ClusterRole } from "../../features/access/rbac/cluster-roles.ts";
import type { ClusterTrustBundle } from "../../features/certificates/bundles/cluster-trust-bundles.ts";
import type { ConfigMap } from "../../features/core/config-maps.ts";
import type { Event } from "../../features/core/event-schema.ts";
import type { IssuedCertificate } from "../../features/certificates/inventory/issued-certificates.ts";
import type { Lease } from "../../features/core/leases.ts";
import type { Namespace } from "../../features/core/namespaces.ts";
import type { Node } from "../../features/nodes/nodes/node-schema.ts";
import type { Pod } from "../../features/nodes/pods/pod-schema.ts";
import type { Secret } from "../../features/core/secrets.ts";
import type { ServiceAccount } from "../../features/accounts/service-accounts.ts";
import type { ResourceReference } from "./api-client.ts";

interface Place {
  readonly group: string;
  readonly version?: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}

const reference = <T extends ApiObject>({ version = "v1", ...place }: Place): ResourceReference<T> => ({
  version,
  ...place,
});

/** The resources that the controllers, the agent and the command line use, with the types of their objects. */
export function resourceReferences(names: Names) {
  const certificates = names.group("certificates");
  const rbac = names.group("rbac.authorization");
  return {
    namespaces: reference<Namespace>({ group: "", resource: "namespaces", kind: "Namespace", isNamespaced: false }),
    serviceAccounts: reference<ServiceAccount>({
      group: "",
      resource: "serviceaccounts",
      kind: "ServiceAccount",
      isNamespaced: true,
    }),
    secrets: reference<Secret>({ group: "", resource: "secrets", kind: "Secret", isNamespaced: true }),
    configMaps: reference<ConfigMap>({ group: "", resource: "configmaps", kind: "ConfigMap", isNamespaced: true }),
    events: reference<Event>({ group: "", resource: "events", kind: "Event", isNamespaced: true }),
    pods: reference<Pod>({ group: "", resource: "pods", kind: "Pod", isNamespaced: true }),
    nodes: reference<Node>({ group: "", resource: "nodes", kind: "Node", isNamespaced: false }),
    leases: reference<Lease>({
      group: names.group("coordination"),
      resource: "leases",
      kind: "Lease",
      isNamespaced: true,
    }),
    clusterRoles: reference<ClusterRole>({
      group: rbac,
      resource: "clusterroles",
      kind: "ClusterRole",
      isNamespaced: false,
    }),
    certificateSigningRequests: reference<CertificateSigningRequest>({
      group: certificates,
      resource: "certificatesigningrequests",
      kind: "CertificateSigningRequest",
      isNamespaced: false,
    }),
    clusterTrustBundles: reference<ClusterTrustBundle>({
      group: certificates,
      version: "v1beta1",
      resource: "clustertrustbundles",
      kind: "ClusterTrustBundle",
      isNamespaced: false,
    }),
    issuedCertificates: reference<IssuedCertificate>({
      group: names.group("signet"),
      resource: "issuedcertificates",
      kind: "IssuedCertificate",
      isNamespaced: false,
    }),
  };
}

export type ResourceReferences = ReturnType<typeof resourceReferences>;
