export {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
  issuedCertificateResource,
} from "./resources.ts";
export { certificates, csr, requestClientCertificate, trust } from "./commands.ts";
