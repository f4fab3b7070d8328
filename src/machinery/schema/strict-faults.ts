import type { RepeatedKey } from "./json-reader.ts";

/**
 * What strict decoding objects to, as upstream lists it: `duplicate field "metadata.labels.d"`, `unknown field "x"`, at
 * most 100. What is inside an unknown field is not looked at.
 */
export function strictFaults({
  duplicateFields,
  unknownFields,
}: {
  readonly duplicateFields: readonly string[];
  readonly unknownFields: readonly string[];
}): string[] {
  const isKnown = (path: string): boolean =>
    !unknownFields.some((field) => path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`));
  return [
    ...duplicateFields.filter(isKnown).map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...new Set(unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`)),
  ].slice(0, 100);
}

/** What YAML's strict reading says of a key that an object has twice. */
export const repeatedKeyFault = ({ key, line }: RepeatedKey): string =>
  `line ${line}: key ${JSON.stringify(key)} already set in map`;

/** All of them in one sentence, as upstream's YAML library words it. */
export const repeatedKeysFault = (keys: readonly RepeatedKey[]): string =>
  `yaml: unmarshal errors:\n${keys.map((key) => `  ${repeatedKeyFault(key)}`).join("\n")}`;
