import { timestamp } from "../../../machinery/api/clock.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";

/** When each replaced anchor is removed: SHA-256 fingerprint to milliseconds since the epoch. */
type RemovalTimes = ReadonlyMap<string, number>;

interface PublishedState {
  /** The CA certificates that the signer uses now. */
  readonly current: readonly Certificate[];
  /** The certificates in the bundle. */
  readonly published: readonly Certificate[];
  readonly replaced: RemovalTimes;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly overlapMilliseconds: number;
}

/** The anchors to publish: the current anchors, then the replaced anchors that are not due for removal. */
export function publishedAnchors({ current, published, replaced, now, overlapMilliseconds }: PublishedState): {
  readonly anchors: readonly Certificate[];
  readonly replaced: RemovalTimes;
} {
  const currentFingerprints = new Set(current.map(fingerprintOf));
  const next = new Map<string, number>();
  const kept = published.filter((anchor) => {
    const key = fingerprintOf(anchor);
    if (currentFingerprints.has(key)) return false;
    const until = Math.min(replaced.get(key) ?? now + overlapMilliseconds, anchor.notAfter);
    if (until <= now) return false;
    next.set(key, until);
    return true;
  });
  return { anchors: [...current, ...kept], replaced: next };
}

/** Formats removal times for the annotation of a bundle: `FINGERPRINT=TIME,…`. */
export const formatRemovalTimes = (replaced: RemovalTimes): string =>
  [...replaced].map(([key, until]) => `${key}=${timestamp(until)}`).join(",");

/** Reads this annotation. Leaves out entries that cannot be read. */
export function parseRemovalTimes(text = ""): RemovalTimes {
  const entries = text.split(",").map((entry) => entry.split("="));
  return new Map(
    entries.flatMap(([key = "", until = ""]) => (Number.isNaN(Date.parse(until)) ? [] : [[key, Date.parse(until)]])),
  );
}
