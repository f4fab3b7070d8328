import { parseDuration } from "../../machinery/api/duration.ts";

/** The shortest lifetime that a CertificateSigningRequest may ask for (upstream: `validateCertificateSigningRequest`). */
export const minimumExpirationSeconds = 600;

/** The same as flags and files have it. */
export const minimumExpirationText = `${minimumExpirationSeconds / 60}m`;

/** The most whole days that a request's `expirationSeconds` has room for: it has 32 bits. */
const longestLifetimeDays = 24_855;

/** Undefined when the text is no duration that a certificate can be requested for. */
export function lifetimeSecondsOf(text: string): number | undefined {
  const seconds = Math.round((parseDuration(text) ?? 0) / 1000);
  return isRequestableLifetime(seconds) ? seconds : undefined;
}

export const isRequestableLifetime = (seconds: number): boolean =>
  seconds >= minimumExpirationSeconds && seconds <= longestLifetimeDays * 86_400;

export const lifetimeFault = `must be a duration such as 24h, from ${minimumExpirationText} to ${longestLifetimeDays}d`;
