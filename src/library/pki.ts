/** `signet/pki`: keys, X.509 certificates and requests, as functions without a server. Faults are PkiError. */
import { atOnce } from "../machinery/api/at-once.ts";
import { findAnchorFaults } from "../pki/trust-anchors.ts";

export { createCertificateAuthority, loadCertificateAuthority, signCertificate } from "../pki/certificate-authority.ts";
export type { CertificateAuthority, SelfSignedOptions } from "../pki/certificate-authority.ts";
export { verifyChain } from "../pki/certificate-chain.ts";
export type { ChainInput, ChainResult } from "../pki/certificate-chain.ts";
export {
  checkRequestSignature,
  parseCertificateRequest,
  parseCertificateRequestPem,
} from "../pki/certificate-request.ts";
export type { CertificateRequest } from "../pki/certificate-request.ts";
export type { CertificateTemplate } from "../pki/certificate-template.ts";
export { fingerprintOf, parseCertificate, parseCertificates, serialNumberHex } from "../pki/certificate.ts";
export type { Certificate } from "../pki/certificate.ts";
export { createCertificateRequestPem } from "../pki/create-certificate-request.ts";
export { formatDistinguishedName } from "../pki/distinguished-name.ts";
export type { DistinguishedName, DistinguishedNameParts } from "../pki/distinguished-name.ts";
export { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem, publicKeyInfoOf } from "../pki/keys.ts";
export type { KeyType } from "../pki/keys.ts";
export { decodePemBlocks, encodePem } from "../pki/pem.ts";
export type { PemBlock } from "../pki/pem.ts";
export { PkiError } from "../pki/pki-error.ts";
export type { PublicKeyInfo } from "../pki/public-key.ts";
export { noSubjectAltNames } from "../pki/subject-alt-names.ts";
export type { SubjectAltNames } from "../pki/subject-alt-names.ts";
export { parseCertificatesPem } from "../pki/certificates-pem.ts";

/**
 * Returns what is wrong with the anchors of a ClusterTrustBundle, in upstream's words: nothing when each is a CA certificate in
 * PEM, there once.
 */
export const validateTrustAnchors = (pem: string): string[] => atOnce(findAnchorFaults(pem));
