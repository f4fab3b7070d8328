/** `signet/pki`: keys, X.509 certificates and requests, as functions without a server. Faults are PkiError. */
import { runToEnd } from "../machinery/api/run-to-end.ts";
import { findAnchorFaults } from "../pki/certificates/trust-anchors.ts";

export {
  createCertificateAuthority,
  loadCertificateAuthority,
  signCertificate,
} from "../pki/certificates/certificate-authority.ts";
export type { CertificateAuthority, SelfSignedOptions } from "../pki/certificates/certificate-authority.ts";
export { verifyChain } from "../pki/certificates/certificate-chain.ts";
export type { ChainInput, ChainResult } from "../pki/certificates/certificate-chain.ts";
export {
  checkRequestSignature,
  parseCertificateRequest,
  parseCertificateRequestPem,
} from "../pki/requests/certificate-request.ts";
export type { CertificateRequest } from "../pki/requests/certificate-request.ts";
export type { CertificateTemplate } from "../pki/certificates/certificate-template.ts";
export {
  fingerprintOf,
  parseCertificate,
  parseCertificates,
  serialNumberHex,
} from "../pki/certificates/certificate.ts";
export type { Certificate } from "../pki/certificates/certificate.ts";
export { createCertificateRequestPem } from "../pki/requests/create-certificate-request.ts";
export { formatDistinguishedName } from "../pki/names/distinguished-name.ts";
export type { DistinguishedName, DistinguishedNameParts } from "../pki/names/distinguished-name.ts";
export { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem, publicKeyInfoOf } from "../pki/keys/keys.ts";
export type { KeyType } from "../pki/keys/keys.ts";
export { decodePemBlocks, encodePem } from "../pki/pem.ts";
export type { PemBlock } from "../pki/pem.ts";
export { PkiError } from "../pki/pki-error.ts";
export type { PublicKeyInfo } from "../pki/keys/public-key.ts";
export { noSubjectAltNames } from "../pki/names/subject-alt-names.ts";
export type { SubjectAltNames } from "../pki/names/subject-alt-names.ts";
export { parseCertificatesPem } from "../pki/certificates/certificates-pem.ts";

/**
 * Returns what is wrong with the anchors of a ClusterTrustBundle, in upstream's words. Empty when each anchor is a CA certificate in PEM
 * and occurs once.
 */
export const validateTrustAnchors = (pem: string): string[] => runToEnd(findAnchorFaults(pem));
