/** How long before now certificates, revocation lists and OCSP answers begin: clients whose clocks are slow accept them at once. */
export const backdateMilliseconds = 5 * 60_000;
