import { goQuoted } from "../api/text/format-value.ts";
import { maximumStrictFaults } from "./json-reader.ts";
import type { MemberPlace, RepeatedKey } from "./json-reader.ts";

/**
 * The faults of strict decoding, in upstream's form: `duplicate field "metadata.labels.d"`, `unknown field "x"`, in
 * document order, at most 100. The content of an unknown field is ignored.
 */
export function strictFaults({
  duplicateFields,
  unknownFields,
}: {
  readonly duplicateFields: readonly MemberPlace[];
  readonly unknownFields: readonly MemberPlace[];
}): string[] {
  if (duplicateFields.length + unknownFields.length === 0) return [];
  const isKnown = ({ path }: MemberPlace): boolean =>
    !unknownFields.some(
      ({ path: unknown }) => path === unknown || path.startsWith(`${unknown}.`) || path.startsWith(`${unknown}[`),
    );
  const worded = (fault: string, places: readonly MemberPlace[]) =>
    places.map(({ path, position }) => ({ text: `${fault} field ${goQuoted(path)}`, position }));
  const faults = [...worded("duplicate", duplicateFields.filter(isKnown)), ...worded("unknown", unknownFields)];
  return [...new Set(faults.sort((one, other) => one.position - other.position).map(({ text }) => text))].slice(
    0,
    maximumStrictFaults,
  );
}

/** Strict YAML reading's message for a key that occurs twice in an object. */
export const repeatedKeyFault = ({ key, line }: RepeatedKey): string =>
  `line ${line}: key ${goQuoted(key)} already set in map`;

/** All repeated keys in one message, in the words of upstream's YAML library. */
export const repeatedKeysFault = (keys: readonly RepeatedKey[]): string =>
  `yaml: unmarshal errors:\n${keys.map((key) => `  ${repeatedKeyFault(key)}`).join("\n")}`;

/** The JSON type of a value does not fit the schema. The message uses the words of Go's encoding/json. */
export class TypeMismatch extends Error {
  override readonly name = "TypeMismatch";
}
