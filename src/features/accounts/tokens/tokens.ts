export { createSecretTokenIssuer, createSecretTokenVerifier } from "./secret-tokens.ts";
export { createServiceAccountTokenVerifier } from "./service-account-tokens.ts";
export { createTokenIssuer } from "./token-issuer.ts";
export type { IssueToken } from "./token-issuer.ts";
export { discoveryDocuments } from "./discovery-documents.ts";
export type { DiscoveryDocuments } from "./discovery-documents.ts";
export { distinctKeys, generateSigningKeyPem, parseSigningKey, parseVerificationKeys } from "./token-key.ts";
export type { GeneratedAlgorithm, SigningKey } from "./token-key.ts";
export type { FoundObject, TokenObjects } from "./token-objects.ts";
