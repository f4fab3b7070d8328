import type { KeyObject } from "node:crypto";
import type { Names } from "../../../src/machinery/api/names.ts";
import type { SeededRandom } from "../../reliability/seeded-random.ts";
import type { ServedKinds } from "../served-kinds.ts";
import type { Vocabulary } from "../vocabulary.ts";

/** The sources of every generator. The random numbers belong to one input, and nothing else determines its contents. */
export interface GeneratorContext {
  readonly random: SeededRandom;
  readonly names: Names;
  readonly kinds: ServedKinds;
  readonly vocabulary: Vocabulary;
  /** A client certificate that the server trusts, in DER, and the key of its CA. */
  readonly clientCertificate: Buffer;
  readonly authorityKey: KeyObject;
}

/** True in so many cases of a hundred. */
export const inPercent = (random: SeededRandom, percent: number): boolean => random.next() * 100 < percent;

/** A random entry of a list that may be typed as empty. */
export function anyOf<T>(random: SeededRandom, choices: readonly T[]): T {
  const chosen = choices[random.integer(0, choices.length - 1)];
  if (chosen === undefined) throw new RangeError("nothing to choose from");
  return chosen;
}
