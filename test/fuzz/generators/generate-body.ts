import { stringify } from "yaml";
import { compileProtobuf } from "../../../src/machinery/schema/protobuf/protobuf.ts";
import { encodeEnvelope } from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../../src/machinery/schema/schema.ts";
import { mutateBytes } from "../mutations/mutate-bytes.ts";
import { mutateJson } from "../mutations/mutate-json.ts";
import type { JsonObject } from "./generate-value.ts";
import { anyOf, inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

export interface Body {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Pieces of YAML that JSON cannot express. */
const yamlPieces = [
  "<<: {a: b}",
  "? [complex]\n: x",
  "x: &a [*a]",
  "x: *absent",
  "x: &a {b: c}\nz: *a",
  "y: no",
  "1.0: x",
  "x: !!binary aGk=",
  "x: 0o17",
  "x: 2026-01-01",
  "x: .nan",
  "--- \nx: 1",
  "%YAML 1.1",
  "x: |\n  long\n",
  "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
] as const;

/** An object as bytes in one of the three formats, changed before it is encoded, afterwards, or not at all. */
export function generateBody(
  object: JsonObject,
  { schema, context }: { schema: ObjectSchema; context: GeneratorContext },
): Body {
  const { random } = context;
  const format = random.next();
  if (format < 0.1) return protobufBody(object, { schema, context });
  const value = inPercent(random, 45) ? mutateJson(object, random) : object;
  if (format < 0.22)
    return withBrokenBytes({ contentType: "application/yaml", bytes: yamlOf(value, context) }, context);
  return withBrokenBytes({ contentType: "application/json", bytes: jsonOf(value, context) }, context);
}

/** As JSON, sometimes with a member twice, sometimes nested deeper than any object. */
export function jsonOf(value: unknown, { random }: GeneratorContext): Buffer {
  const text = JSON.stringify(value) ?? "";
  if (inPercent(random, 3)) return Buffer.from(text.replace("{", '{"metadata":{"labels":{"x":"y"}},"kind":"Pod",'));
  if (!inPercent(random, 0.5)) return Buffer.from(text);
  const depth = random.pick([10_001, 100_000]);
  const deep = random.pick([`${"[".repeat(depth)}${"]".repeat(depth)}`, '{"a":'.repeat(depth)]);
  return Buffer.from(text.replace(/:("[^"]*"|\d+|\{\}|\[\])/, () => `:${deep}`));
}

/** As YAML, sometimes with parts that JSON cannot express. */
export function yamlOf(value: unknown, { random }: GeneratorContext): Buffer {
  const json = JSON.stringify(value) ?? "null";
  // Very deep or long values are sent as JSON, which is YAML too. Otherwise the test would measure this library's writer.
  const text =
    json.length > 5_000 || inPercent(random, 20) ? json : stringify(JSON.parse(json), { aliasDuplicateObjects: true });
  return Buffer.from(inPercent(random, 25) ? `${text}\n${anyOf(random, yamlPieces)}\n` : text);
}

/** The bytes, mostly changed. */
export function withBrokenBytes({ contentType, bytes }: Body, { random }: GeneratorContext): Body {
  return { contentType, bytes: inPercent(random, 8) ? mutateBytes(bytes, random) : bytes };
}

function protobufBody(
  object: JsonObject,
  { schema, context: { random } }: { readonly schema: ObjectSchema; readonly context: GeneratorContext },
): Body {
  const contentType = "application/vnd.kubernetes.protobuf";
  const { apiVersion, kind, metadata } = object;
  const typeMeta = { apiVersion: String(apiVersion), kind: String(kind) };
  let bytes: Buffer;
  try {
    bytes = encodeEnvelope(compileProtobuf(schema as ObjectSchema<typeof typeMeta>), { ...object, ...typeMeta });
  } catch {
    // The writer needs values of the right types. If a generated value has another type, only the metadata is written.
    bytes = encodeEnvelope(compileProtobuf(schema as ObjectSchema<typeof typeMeta>), {
      metadata,
      ...typeMeta,
    } as typeof typeMeta);
  }
  return { contentType, bytes: inPercent(random, 60) ? mutateBytes(bytes, random) : bytes };
}
