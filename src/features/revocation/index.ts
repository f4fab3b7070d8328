export { revocationResource } from "./resources.ts";
export { issuedBeforeOption, listRevocations, reasonOption, revoke } from "./revocation-commands.ts";
export type { RevocationFlags, RevocationTargetAt } from "./revocation-commands.ts";
export { moreSevere, RevokedCertificates } from "./revoked-certificates.ts";
export type { CertificateFacts, RevokedCertificate, RevokedSerialNumber } from "./revoked-certificates.ts";
export type { Revocation } from "./resources.ts";
