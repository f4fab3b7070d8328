/** `signet/signing`: building blocks of a signer that runs beside the server, with a CA that the server never sees. */
export { loadSigningAuthority } from "../features/certificates/authorities/signing-authority.ts";
export type { SigningAuthorityInProcess as SigningAuthority } from "../features/certificates/authorities/signing-authority.ts";
export { certificateSigningRequestResource } from "../features/certificates/resources.ts";
export type { CertificateSigningRequest } from "../features/certificates/resources.ts";
export { issueCertificate, issuingFaults, lifetimeSeconds } from "../features/certificates/signers/issue.ts";
export type { SignedCertificate, IssueOptions } from "../features/certificates/signers/issue.ts";
export { parseCertificateRequestPem } from "../pki/requests/certificate-request.ts";
export type { CertificateRequest } from "../pki/requests/certificate-request.ts";
export { PkiError } from "../pki/pki-error.ts";
