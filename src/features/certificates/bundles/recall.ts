import { parseTimestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

/**
 * The annotation of a signer's bundle with an RFC 3339 time. Agents renew the signer's certificates that were issued before this time.
 * Writing it requires the permission to `attest` for the signer, like every change of the bundle.
 */
export const recallAnnotation = (names: Names): string => `${names.group("signet")}/renew-issued-before`;

/** The time in a bundle's annotation, in milliseconds since the epoch. 0 when the annotation is missing or is not a time. */
const recallOf = ({ metadata }: Pick<ApiObject, "metadata">, names: Names): number =>
  parseTimestamp(metadata.annotations?.[recallAnnotation(names)] ?? "") ?? 0;

/**
 * The latest recall in a signer's bundles that is not after `now`, in milliseconds since the epoch: the signer's certificates from before
 * this time must be renewed. Recalls in the future are ignored, because they would hide the others. 0: none.
 */
export const latestRecall = (
  bundles: readonly Pick<ApiObject, "metadata">[],
  { names, now }: { readonly names: Names; readonly now: number },
): number =>
  bundles
    .map((bundle) => recallOf(bundle, names))
    .reduce((latest, time) => (time <= now ? Math.max(latest, time) : latest), 0);
