import type { ApiObject } from "../api/object-meta.ts";
import { decode } from "../schema/decode.ts";
import type { ObjectSchema } from "../schema/schema.ts";
import { strictFaults } from "../schema/strict-faults.ts";
import type { ResourceRegistry } from "./resource-registry.ts";

export interface DecodedObject<T> {
  readonly object: T;
  /** What strict validation refuses, as sentences: unknown and duplicate fields. */
  readonly strictFaults: readonly string[];
}

export interface DecodeRequest {
  readonly value: unknown;
  /** Paths of repeated members of the document that the value was read from. */
  readonly duplicateFields?: readonly string[];
}

/** Fits a JSON value into a schema: prunes what it does not name. Throws TypeMismatch. */
export function decodeValue<T>(
  schema: ObjectSchema<T>,
  { value, duplicateFields = [] }: DecodeRequest,
): DecodedObject<T> {
  const { value: object, unknownFields } = decode(schema, value);
  return { object, strictFaults: strictFaults({ unknownFields, duplicateFields }) };
}

/** An object of the registry's kind as a client means it: pruned and with all defaults. Throws TypeMismatch. */
export function decodeObject<T extends ApiObject>(
  { definition, apiVersion, clock }: ResourceRegistry<T>,
  request: DecodeRequest,
): DecodedObject<T> {
  const { object, strictFaults } = decodeValue(definition.schema, request);
  const typed = { ...object, kind: definition.kind, apiVersion };
  return { object: definition.setDefaults?.(typed, { now: clock.now() }) ?? typed, strictFaults };
}
