import { parseTimestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

/**
 * The annotation of a signer's bundle with a time in RFC 3339: agents renew the signer's certificates that were issued before it.
 * Whoever writes it needs the permission to `attest` for the signer, as for all of the bundle.
 */
export const recallAnnotation = (names: Names): string => `${names.group("signet")}/renew-issued-before`;

/** The time of a bundle's annotation, in milliseconds since the epoch. 0 when there is none, or it is no time. */
const recallOf = ({ metadata }: Pick<ApiObject, "metadata">, names: Names): number =>
  parseTimestamp(metadata.annotations?.[recallAnnotation(names)] ?? "") ?? 0;

/**
 * Before which time a signer has recalled its certificates, in milliseconds since the epoch: the latest that its bundles say and that has
 * come by `now`. One in the future would hide the others. 0: none.
 */
export const latestRecall = (
  bundles: readonly Pick<ApiObject, "metadata">[],
  { names, now }: { readonly names: Names; readonly now: number },
): number =>
  bundles
    .map((bundle) => recallOf(bundle, names))
    .reduce((latest, time) => (time <= now ? Math.max(latest, time) : latest), 0);
