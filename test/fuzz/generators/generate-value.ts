import type { ObjectSchema, Schema } from "../../../src/machinery/schema/schema.ts";
import { edgeNumbers } from "../mutations/mutate-json.ts";
import { namespaces } from "../vocabulary.ts";
import { generateBytes, generateText } from "./generate-text.ts";
import { inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

export type JsonObject = Record<string, unknown>;

const times = [
  "2026-11-21T10:00:00Z",
  "2026-11-21T10:00:00.123456Z",
  "2026-11-21T10:00:00+05:30",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
] as const;
const quantities = ["0", "100m", "1.5Gi", "2e3", "9223372036854775807", "1e-9"] as const;

/** A value that a schema describes, deeper fields more seldom. */
export function generateValue(schema: Schema, field: string, context: GeneratorContext, depth = 0): unknown {
  const { random } = context;
  switch (schema.type) {
    case "object":
      return generateObject(schema, context, depth);
    case "array":
      return Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () =>
        generateValue(schema.items, field, context, depth + 1),
      );
    case "map": {
      const keys = Array.from({ length: random.pick([0, 1, 2]) }, () => generateText("name", context));
      return Object.fromEntries(keys.map((key) => [key, generateValue(schema.values, key, context, depth + 1)]));
    }
    case "any":
      return random.pick<unknown>([{ "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } }, {}, null, "x", [1], 1.5]);
    case "string":
      return generateText(field, context);
    case "boolean":
      return random.pick([true, false]);
    case "int32":
    case "int64":
      return random.pick<number>([0, 1, 600, 3600, 3607, ...(inPercent(random, 20) ? edgeNumbers : [10])]);
    case "bytes":
      return generateBytes(field, context).toString("base64");
    case "time":
    case "microTime":
      return random.pick([...times]);
    case "quantity":
      return random.pick([...quantities]);
    case "intOrString":
      return random.pick<unknown>([0, 80, "http", "50%"]);
  }
}

function generateObject(schema: ObjectSchema, context: GeneratorContext, depth: number): JsonObject {
  const percent = [50, 45, 40, 30, 20, 10][depth] ?? 5;
  const members = Object.entries(schema.fields).flatMap(([name, field]) =>
    inPercent(context.random, field.isRequired === true ? 92 : percent)
      ? [[name, generateValue(field.schema, name, context, depth + 1)] as const]
      : [],
  );
  return Object.fromEntries(members);
}

/** Metadata that an object may have: what only the server sets is seldom in it. */
export function generateMetadata(context: GeneratorContext, { namespace, name }: ObjectKey): JsonObject {
  const { random } = context;
  const metadata: JsonObject = { name };
  if (namespace !== "" || inPercent(random, 5))
    metadata["namespace"] = inPercent(random, 95) ? namespace : namespaces[1];
  if (inPercent(random, 5)) {
    delete metadata["name"];
    metadata["generateName"] = generateText("generateName", context);
  }
  if (inPercent(random, 40)) metadata["labels"] = { a: generateText("name", context), "example.com/b": "c" };
  if (inPercent(random, 30)) metadata["annotations"] = { "example.com/note": generateText("note", context) };
  if (inPercent(random, 15)) metadata["finalizers"] = [generateText("finalizers", context)];
  if (inPercent(random, 15)) {
    const uid = generateText("uid", context);
    metadata["ownerReferences"] = [
      { apiVersion: "v1", kind: generateText("kind", context), name: generateText("name", context), uid },
    ];
  }
  if (inPercent(random, 10)) metadata["resourceVersion"] = generateText("resourceVersion", context);
  if (inPercent(random, 5)) metadata["uid"] = generateText("uid", context);
  return metadata;
}

export interface ObjectKey {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

interface DescribedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: ObjectSchema;
}

/** An object of the kind. `sample` are fields with which it is accepted; some objects are built around them. */
export function generateApiObject(
  { apiVersion, kind, schema }: DescribedKind,
  key: ObjectKey,
  { context, sample = {} }: { readonly context: GeneratorContext; readonly sample?: object },
): JsonObject {
  const { metadata: _metadata, apiVersion: _version, kind: _kind, ...fields } = schema.fields;
  const generated = generateObject({ ...schema, fields }, context, 0);
  const turn = context.random.integer(1, 4);
  return {
    apiVersion,
    kind,
    metadata: generateMetadata(context, key),
    ...(turn === 1 ? generated : turn === 2 ? { ...sample, ...generated } : structuredClone(sample)),
    ...(turn === 3 && { ...generated, ...structuredClone(sample) }),
  };
}
