import type { CertificateName } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";

/** What keeps an agent from being healthy: certificates that are not there or have ended. `now` is milliseconds since the epoch. */
export const certificateFaults = (
  pairs: Readonly<Record<CertificateName, KeyPair | undefined>>,
  now: number,
): string[] =>
  Object.entries(pairs).flatMap(([name, pair]) => {
    if (pair === undefined) return [`there is no ${name} certificate`];
    return now > pair.certificate.notAfter ? [`the ${name} certificate has expired`] : [];
  });
