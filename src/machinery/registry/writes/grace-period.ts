import { timestamp } from "../../api/clock.ts";
import type { ObjectMeta } from "../../api/object-meta.ts";
import type { DeleteOptions } from "./delete-options.ts";

/**
 * Whether the grace period of an earlier deletion is pending, and this deletion does not shorten it. Then this deletion changes
 * nothing, not even the finalizers (upstream: `rest.BeforeDelete`).
 */
export function isGracePending(
  { deletionTimestamp, deletionGracePeriodSeconds: pending = 0 }: ObjectMeta,
  { gracePeriodSeconds = pending }: Pick<DeleteOptions, "gracePeriodSeconds">,
): boolean {
  return deletionTimestamp !== undefined && pending > 0 && gracePeriodSeconds >= pending;
}

/**
 * The metadata of an object that is being deleted with a grace period. The period of a deletion that has begun can only be
 * shortened (upstream: `rest.BeforeDelete`).
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
  // A deletionTimestamp that was cut to `latestTime` does not tell when the period began: then it counts from the creation.
  const begun = Math.max(Date.parse(deletionTimestamp) - pending * 1000, Date.parse(creationTimestamp) || 0);
  return ending(metadata, { since: begun, seconds });
}

/** The latest time in RFC 3339. */
const latestTime = Date.UTC(9999, 11, 31, 23, 59, 59);

const ending = (
  metadata: ObjectMeta,
  { since, seconds }: { readonly since: number; readonly seconds: number },
): ObjectMeta => ({
  ...metadata,
  deletionTimestamp: timestamp(Math.min(since + seconds * 1000, latestTime)),
  deletionGracePeriodSeconds: seconds,
});
