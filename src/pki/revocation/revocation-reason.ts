/** CRLReason (RFC 5280 section 5.3.1). 7 is unused; 8 is only for delta CRLs. */
export const reasonCodes = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const;

export type RevocationReason = keyof typeof reasonCodes;

/** Why a credential is revoked (RFC 5280 section 5.3.1). */
export const revocationReasons: readonly string[] = Object.keys(reasonCodes);
