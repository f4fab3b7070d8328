/**
 * Certificates, revocation lists and OCSP answers begin to be valid this long before now, so that clients whose clocks are slow accept them
 * at once.
 */
export const backdateMilliseconds = 5 * 60_000;
