import { timestamp } from "../../api/clock.ts";
import type { ObjectMeta } from "../../api/object-meta.ts";
import type { DeleteOptions } from "./delete-options.ts";

/**
 * Whether a deletion that began earlier still gives an object time, and this one does not give it less: then this one changes
 * nothing, not even the finalizers (upstream: `rest.BeforeDelete`).
 */
export function isGracePending(
  { deletionTimestamp, deletionGracePeriodSeconds: pending = 0 }: ObjectMeta,
  { gracePeriodSeconds = pending }: Pick<DeleteOptions, "gracePeriodSeconds">,
): boolean {
  return deletionTimestamp !== undefined && pending > 0 && gracePeriodSeconds >= pending;
}

/**
 * The metadata of an object that is deleted, and has this many seconds to end. The period of a deletion that has begun can only
 * become shorter (upstream: `rest.BeforeDelete`).
 */
export function withGracePeriod(
  metadata: ObjectMeta,
  { seconds, now }: { readonly seconds: number; readonly now: number },
): ObjectMeta {
  const { creationTimestamp = "", deletionTimestamp, generation = 0 } = metadata;
  const { deletionGracePeriodSeconds: pending = 0 } = metadata;
  if (deletionTimestamp === undefined) {
    const isCounted = generation > 0;
    return ending(isCounted ? { ...metadata, generation: generation + 1 } : metadata, { since: now, seconds });
  }
  if (seconds >= pending) return metadata;
  // A period to the end of time does not say when it began.
  const begun = Math.max(Date.parse(deletionTimestamp) - pending * 1000, Date.parse(creationTimestamp) || 0);
  return ending(metadata, { since: begun, seconds });
}

/** The last time that RFC 3339 can write. */
const latestTime = Date.UTC(9999, 11, 31, 23, 59, 59);

const ending = (
  metadata: ObjectMeta,
  { since, seconds }: { readonly since: number; readonly seconds: number },
): ObjectMeta => ({
  ...metadata,
  deletionTimestamp: timestamp(Math.min(since + seconds * 1000, latestTime)),
  deletionGracePeriodSeconds: seconds,
});
