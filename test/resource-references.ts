import type { Names } from "../src/machinery/api/names.ts";
import {
  namespaceResource,
  configMapResource,
  secretResource,
  eventResource,
  leaseResource,
} from "../src/features/core/index.ts";
import { serviceAccountResource } from "../src/features/accounts/resources.ts";
import {
  roleResource,
  clusterRoleResource,
  roleBindingResource,
  clusterRoleBindingResource,
} from "../src/features/access/resources.ts";
import {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  issuedCertificateResource,
} from "../src/features/certificates/resources.ts";
import { podResource, nodeResource } from "../src/features/nodes/index.ts";

/** The resources that tests use, under the names of one profile. */
export const resourceReferences = (names: Names) => ({
  namespaces: namespaceResource(names),
  configMaps: configMapResource(names),
  secrets: secretResource(names),
  events: eventResource(names),
  leases: leaseResource(names),
  serviceAccounts: serviceAccountResource(names),
  roles: roleResource(names),
  clusterRoles: clusterRoleResource(names),
  roleBindings: roleBindingResource(names),
  clusterRoleBindings: clusterRoleBindingResource(names),
  certificateSigningRequests: certificateSigningRequestResource(names),
  clusterTrustBundles: clusterTrustBundleResource(names),
  issuedCertificates: issuedCertificateResource(names),
  pods: podResource(names),
  nodes: nodeResource(names),
});

export type ResourceReferences = ReturnType<typeof resourceReferences>;
