import * as fc from "fast-check";
import { parseExactly } from "../../../src/machinery/schema/parse-json.ts";
import type { Field, ObjectSchema, ScalarType, Schema } from "../../../src/machinery/schema/schema.ts";

const scalars: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: "binary", maxLength: 12 }).map((text) => text.toWellFormed()),
  boolean: fc.boolean(),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  time: fc
    .date({ min: new Date("0002-01-01"), max: new Date("9990-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString()),
  microTime: fc
    .date({ min: new Date("0002-01-01"), max: new Date("9990-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString().replace("Z", "123Z")),
  quantity: fc.constantFrom("0", "100m", "1.5Gi", "2e3"),
  intOrString: fc.oneof(fc.integer(), fc.string()),
};

/** Values of a schema as a client may send them: fields missing, empty, in other spellings. */
export function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.type === "any")
    // Its text has no negative zero.
    return fc
      .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true })
      .map((value) => parseExactly(JSON.stringify(value)));
  if (schema.type === "array") return fc.array(valueOf(schema.items), { maxLength: 3 });
  if (schema.type === "map")
    return fc.dictionary(fc.string(), valueOf(schema.values), { maxKeys: 4, noNullPrototype: true });
  if (schema.type === "object") return objectOf(schema);
  return scalars[schema.type];
}

const objectOf = (schema: ObjectSchema): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(Object.fromEntries(Object.entries(schema.fields).map(([name, field]) => [name, valueOfField(field)])), {
    requiredKeys: [],
  });

/** Protobuf does not tell an empty list from none, so that a list for which this matters is not empty. */
const valueOfField = ({ schema, presence }: Field): fc.Arbitrary<unknown> =>
  presence === "pointer" && schema.type === "array"
    ? fc.array(valueOf(schema.items), { minLength: 1, maxLength: 3 })
    : valueOf(schema);
