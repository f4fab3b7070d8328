import { maximumFaults } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { shortened } from "../../api/text/format-value.ts";
import { memberSchemaOf } from "../../schema/schema.ts";
import type { ArraySchema, ScalarSchema, Schema } from "../../schema/schema.ts";
import { isJsonObject, jsonTypeName } from "../../api/json/json-object.ts";
import { maximumJsonDepth } from "../../schema/json-reader.ts";
import { isDeeperThan } from "../patch/json-value.ts";
import { entryElement, printPath, UntrackableEntry } from "./path-element.ts";

/**
 * Finds everything in an applied configuration that the schema does not allow: unknown fields, values of another type,
 * entries without their key, duplicates. Apply refuses these whatever `fieldValidation` says, because no manager can own a
 * field that does not exist. The faults do not contain values. Stops after one fault more than an error shows. Yields between its steps.
 */
export function* configurationFaults(schema: Schema, configuration: unknown): Generator<undefined, FieldError[]> {
  if (isDeeperThan(maximumJsonDepth, configuration)) return [fault("", "exceeded max depth")];
  yield;
  const faults: FieldError[] = [];
  for (const found of faultsOf(configuration, { schema, path: "" })) {
    if (found === undefined) yield;
    else faults.push(found);
    if (faults.length > maximumFaults) break;
  }
  return faults;
}

/** How many members or entries a step checks. */
const stepLength = 256;

const fault = (path: string, message: string): FieldError => ({
  reason: "FieldValueInvalid",
  field: shortened(path.startsWith(".") ? path.slice(1) : path),
  message: `Invalid value: ${shortened(message)}`,
});

const typeFault = (
  path: string,
  { expected, value }: { readonly expected: string; readonly value: unknown },
): FieldError => fault(path, `expected ${expected}, got ${jsonTypeName(value)}`);

/** Yields the faults, and undefined at the end of each step. */
function* faultsOf(
  value: unknown,
  { schema, path }: { readonly schema: Schema; readonly path: string },
): Generator<FieldError | undefined> {
  if (value === null || schema.type === "any") return;
  if (schema.type === "array") {
    if (Array.isArray(value)) yield* entryFaults(value, { list: schema, path });
    else yield typeFault(path, { expected: "list", value });
  } else if (schema.type !== "object" && schema.type !== "map") {
    const expected = expectedScalar(schema, value);
    if (expected !== undefined) yield typeFault(path, { expected, value });
  } else if (!isJsonObject(value)) {
    yield typeFault(path, { expected: "map", value });
  } else {
    let members = 0;
    for (const name in value) {
      if (++members % stepLength === 0) yield;
      const member = value[name]; // own keys only
      const known = schema.type === "map" ? schema.values : memberSchemaOf(schema, name);
      if (known === undefined) yield fault(`${path}.${name}`, "field not declared in schema");
      else if (!isFitting(known, member)) yield* faultsOf(member, { schema: known, path: `${path}.${name}` });
    }
  }
}

function* entryFaults(
  entries: readonly unknown[],
  { list, path }: { readonly list: ArraySchema; readonly path: string },
): Generator<FieldError | undefined> {
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    if ((index + 1) % stepLength === 0) yield;
    let entryPath = `${path}[${index}]`;
    if (list.list !== "atomic") {
      try {
        const element = entryElement(list, entry);
        if (seen.has(element)) yield fault(path, `duplicate entries for key ${printPath([element])}`);
        seen.add(element);
        entryPath = `${path}${printPath([element])}`;
      } catch (error) {
        if (!(error instanceof UntrackableEntry)) throw error;
        yield fault(entryPath, error.message);
        continue;
      }
    }
    if (!isFitting(list.items, entry)) yield* faultsOf(entry, { schema: list.items, path: entryPath });
  }
}

/** Whether a value is a scalar of the schema's type. Nearly all values are, so this saves most of the generators, which take long. */
const isFitting = (schema: Schema, value: unknown): boolean =>
  typeof value !== "object" &&
  schema.type !== "array" &&
  schema.type !== "object" &&
  schema.type !== "map" &&
  schema.type !== "any" &&
  expectedScalar(schema, value) === undefined;

/** The expected type of a scalar. Undefined when the value has it. */
function expectedScalar({ type }: ScalarSchema, value: unknown): string | undefined {
  if (type === "boolean") return typeof value === "boolean" ? undefined : "boolean";
  if (type === "int32" || type === "int64") return Number.isInteger(value) ? undefined : "integer";
  const isNumberAllowed = type === "quantity" || type === "intOrString";
  if (typeof value === "string" || (isNumberAllowed && typeof value === "number")) return undefined;
  return isNumberAllowed ? "string or number" : "string";
}
