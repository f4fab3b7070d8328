import type { FieldError } from "../../api/validation/field-error.ts";

/**
 * A fault that a kind's validation finds, or a text that marks a place. At that place come the faults that the registry finds in the
 * metadata: upstream's kinds list them in different places, and some kinds not at all. In a list without such a mark they come first: the
 * faults of the change, then those of the whole metadata.
 */
export type KindFault = FieldError | "metadata" | "metadata change" | "no metadata";

interface MetadataFaults {
  /** The faults of the new metadata. */
  readonly whole: readonly FieldError[];
  /** The faults of the change from the previous metadata. */
  readonly change: readonly FieldError[];
}

/** The faults of a kind, with the metadata's faults in place of the marks. */
export function withMetadataFaults(faults: readonly KindFault[], { whole, change }: MetadataFaults): FieldError[] {
  if (faults.every(isFault)) return change.concat(whole, faults);
  return faults.flatMap((fault) => {
    if (isFault(fault)) return [fault];
    return fault === "metadata" ? whole : fault === "metadata change" ? change : [];
  });
}

const isFault = (fault: KindFault): fault is FieldError => typeof fault !== "string";
