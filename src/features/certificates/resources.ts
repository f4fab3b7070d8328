export { ownSignerName, signerNames } from "./signer-names.ts";
import { resourceType } from "../../machinery/api/resource-type.ts";
import type { ClusterTrustBundle } from "./bundles/cluster-trust-bundles.ts";
import type { IssuedCertificate } from "./inventory/issued-certificates.ts";
import type { CertificateSigningRequest } from "./requests/certificate-signing-request-schema.ts";

export const certificateSigningRequestResource = resourceType<CertificateSigningRequest>({
  group: "certificates",
  kind: "CertificateSigningRequest",
  scope: "Cluster",
});
export const clusterTrustBundleResource = resourceType<ClusterTrustBundle>({
  group: "certificates",
  version: "v1beta1",
  kind: "ClusterTrustBundle",
  scope: "Cluster",
});
export const issuedCertificateResource = resourceType<IssuedCertificate>({
  group: "signet",
  kind: "IssuedCertificate",
  scope: "Cluster",
});
export {
  isRequestableLifetime,
  lifetimeFault,
  lifetimeSecondsOf,
  minimumExpirationText,
} from "./requested-lifetime.ts";
export { signerOfBundle } from "./bundles/bundle-names.ts";
export { latestRecall } from "./bundles/recall.ts";
export type { ClusterTrustBundle } from "./bundles/cluster-trust-bundles.ts";
export { newSigningRequest } from "./requests/new-signing-request.ts";
export { certificateRequestState, isUnfinished } from "./requests/certificate-request-state.ts";
export type { CertificateSigningRequest } from "./requests/certificate-signing-request-schema.ts";
