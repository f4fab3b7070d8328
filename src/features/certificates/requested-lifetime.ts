import { parseDuration } from "../../machinery/api/duration.ts";

/** The shortest lifetime that a CertificateSigningRequest may ask for (upstream: `validateCertificateSigningRequest`). */
export const minimumExpirationSeconds = 600;

/** The same lifetime as text, for flags and files. */
export const minimumExpirationText = `${minimumExpirationSeconds / 60}m`;

/** The most whole days that the 32 bits of a request's `expirationSeconds` can hold. */
const longestLifetimeDays = 24_855;

/** Parses a lifetime. Undefined for a text that is not a duration, or that no certificate can be requested for. */
export function lifetimeSecondsOf(text: string): number | undefined {
  const seconds = Math.round((parseDuration(text) ?? 0) / 1000);
  return isRequestableLifetime(seconds) ? seconds : undefined;
}

export const isRequestableLifetime = (seconds: number): boolean =>
  seconds >= minimumExpirationSeconds && seconds <= longestLifetimeDays * 86_400;

export const lifetimeFault = `must be a duration such as 24h, from ${minimumExpirationText} to ${longestLifetimeDays}d`;
