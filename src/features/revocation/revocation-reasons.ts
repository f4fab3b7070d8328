/** Why a credential is revoked (RFC 5280 section 5.3.1). */
export const revocationReasons: readonly string[] = [
  "unspecified",
  "keyCompromise",
  "cACompromise",
  "affiliationChanged",
  "superseded",
  "cessationOfOperation",
  "certificateHold",
  "privilegeWithdrawn",
  "aACompromise",
];
