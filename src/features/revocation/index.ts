export { revocationResource } from "./resources.ts";
export { issuedBeforeOption, reasonOption, revocationsCommand, revoke } from "./revocation-commands.ts";
export type { RevocationFlags, RevocationTargetAt } from "./revocation-commands.ts";
export { moreSevere, RevokedCertificates, revokedSerialNumber } from "./revoked-certificates.ts";
export type { CertificateFacts, RevokedCertificate, RevokedSerialNumber } from "./revoked-certificates.ts";
export type { Revocation } from "./resources.ts";
