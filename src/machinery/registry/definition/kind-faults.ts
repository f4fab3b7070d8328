import type { FieldError } from "../../api/field-error.ts";

/**
 * A fault that a kind's validation finds, or the place of those that the registry finds in the metadata. Upstream's kinds list them
 * in different orders, and some not at all. A list without such a place has them first: of the change, then of the whole.
 */
export type KindFault = FieldError | "metadata" | "metadata change" | "no metadata";

interface MetadataFaults {
  /** What is wrong with the metadata as it is. */
  readonly whole: readonly FieldError[];
  /** What is wrong with the change of it. */
  readonly change: readonly FieldError[];
}

/** The faults of a kind with those of the metadata in their places. */
export function withMetadataFaults(faults: readonly KindFault[], { whole, change }: MetadataFaults): FieldError[] {
  const hasPlaces = faults.some((fault) => typeof fault === "string");
  const placed: readonly KindFault[] = hasPlaces ? faults : ["metadata change", "metadata", ...faults];
  return placed.flatMap((fault) => {
    if (typeof fault !== "string") return [fault];
    return fault === "metadata" ? whole : fault === "metadata change" ? change : [];
  });
}
