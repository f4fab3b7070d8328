import { createHash } from "node:crypto";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";

const sequenceKey = "reliability/sequence";
const fillerKey = "reliability/filler";
const digestKey = "reliability/digest";

/** The content of one write. Every write of a test has a unique sequence number. */
export interface Sealed {
  readonly name: string;
  readonly sequence: number;
  /** Varies the size of objects, so that they take one or more pages of the store. */
  readonly fillerLength: number;
}

/** Annotations that prove that an object is complete: a digest over its name and everything that was written. */
export function seal({ name, sequence, fillerLength }: Sealed): Record<string, string> {
  const filler = String.fromCharCode(97 + (sequence % 26)).repeat(fillerLength);
  return {
    [sequenceKey]: String(sequence),
    [fillerKey]: filler,
    [digestKey]: digest(name, String(sequence), filler),
  };
}

/** The sequence number of the write in an object, "unsealed" for an object of another writer, or "broken". */
export function sealOf({ metadata }: ApiObject): number | "unsealed" | "broken" {
  const annotations = metadata.annotations ?? {};
  const sequence = annotations[sequenceKey];
  if (sequence === undefined) return "unsealed";
  const expected = digest(metadata.name ?? "", sequence, annotations[fillerKey] ?? "");
  const isWhole =
    annotations[digestKey] === expected &&
    (metadata.uid ?? "") !== "" &&
    (metadata.creationTimestamp ?? "") !== "" &&
    (metadata.resourceVersion ?? "") !== "";
  return isWhole ? Number(sequence) : "broken";
}

const digest = (name: string, sequence: string, filler: string): string =>
  createHash("sha256").update(`${name}\0${sequence}\0${filler}`).digest("base64url");
