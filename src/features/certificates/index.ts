export {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  issuedCertificateResource,
} from "./resources.ts";
