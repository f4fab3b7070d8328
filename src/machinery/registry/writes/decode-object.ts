import type { ApiObject } from "../../api/object-meta.ts";
import type { Reading } from "../../schema/decode-context.ts";
import { strictFaults } from "../../schema/decode-faults.ts";
import type { MemberPlace } from "../../schema/json-reader.ts";
import type { CompiledSchema } from "../definition/compiled-schema.ts";
import type { ResourceRegistry } from "../resource-registry.ts";

export interface DecodedObject<T> {
  readonly object: T;
  /** The faults of strict validation, as sentences: unknown and duplicate fields. */
  readonly strictFaults: readonly string[];
}

export interface DecodeRequest {
  readonly value: unknown;
  /** The repeated members in the document that the value was parsed from. */
  readonly duplicateFields?: readonly MemberPlace[];
  readonly reading?: Reading;
}

/** Decodes a JSON value with a schema and removes unknown fields. Throws TypeMismatch. */
export function decodeValue<T>(
  schema: CompiledSchema<T>,
  { value, duplicateFields = [], reading }: DecodeRequest,
): DecodedObject<T> {
  const { value: object, unknownFields } = schema.decode(value, reading);
  return { object, strictFaults: strictFaults({ unknownFields, duplicateFields }) };
}

/**
 * Decodes an object of the registry's kind, as it is served, to the form that is stored: without unknown fields and with all
 * defaults. Throws TypeMismatch.
 */
export function decodeObject<T extends ApiObject>(
  { definition, compiled, clock }: ResourceRegistry<T>,
  request: DecodeRequest,
): DecodedObject<T> {
  const { object, strictFaults } = decodeValue(compiled.schema, request);
  const stored =
    compiled.fieldNames === undefined
      ? object
      : compiled.storedSchema.decode(compiled.fieldNames.toStored(object)).value;
  const typed = { ...stored, kind: definition.kind, apiVersion: compiled.storedApiVersion };
  return {
    object: definition.setDefaults?.(typed, { now: clock.now(), requestedGroup: definition.group }) ?? typed,
    strictFaults,
  };
}
