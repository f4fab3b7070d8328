export { ownSignerName } from "./signer-names.ts";
export {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  issuedCertificateResource,
} from "./resources.ts";
