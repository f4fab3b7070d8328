import type { ApiKey, OpenApiV2, OperationV2, ParameterV2, PathItemV2 } from "./openapi.ts";
import type { OpenApiSchema } from "./openapi-definitions.ts";
import { bytesType, ProtobufWriter, varintType } from "../protobuf/protobuf-wire.ts";

/** Encodes a document as gnostic's `openapi.v2.Document` message. Waits for `pause` after each path and definition. */
export async function encodeOpenApiV2(document: OpenApiV2, pause: () => Promise<void> | undefined): Promise<Buffer> {
  const { swagger, info, paths, definitions, security, securityDefinitions } = document;
  const writer = new ProtobufWriter();
  const writeInTurns = async <T>(field: number, { number, entries, encode }: Entries<T>): Promise<void> => {
    const lengthBefore = writer.length;
    for (const entry of Object.entries(entries).toReversed()) {
      writeMessage(writer, [[number, nameAndValue(entry, encode)]]);
      await pause();
    }
    writer.varint(writer.length - lengthBefore);
    writer.tag(field, bytesType);
  };
  writeMessage(writer, [
    ...repeated(
      12,
      security.map((entries) => named({ number: 1, entries, encode: (scopes) => repeated(1, scopes) })),
    ),
    [13, named({ number: 1, entries: securityDefinitions, encode: apiKeyItem })],
  ]);
  await writeInTurns(9, { number: 1, entries: definitions, encode: schemaMessage });
  await writeInTurns(8, { number: 2, entries: paths, encode: pathItem });
  writeMessage(writer, [
    [1, swagger],
    [
      2,
      [
        [1, info.title],
        [2, info.version],
      ],
    ],
  ]);
  return writer.finish();
}

/** A message as a list of fields, numbers ascending. Undefined fields are left out. */
type Message = readonly (readonly [number, string | boolean | undefined | Message])[];

function writeMessage(writer: ProtobufWriter, message: Message): void {
  for (const [number, value] of message.toReversed()) {
    if (value === undefined) continue;
    if (typeof value === "boolean") writer.varint(value ? 1 : 0);
    else if (typeof value === "string") writer.string(value);
    else writer.message(() => writeMessage(writer, value));
    writer.tag(number, typeof value === "boolean" ? varintType : bytesType);
  }
}

const repeated = (number: number, values: readonly (string | Message)[] = []): Message =>
  values.map((value) => [number, value] as const);

interface Entries<T> {
  readonly number: number;
  readonly entries: Readonly<Record<string, T>>;
  encode(value: T): Message;
}

/** gnostic's maps are lists of messages with a name and a value. */
const named = <T>({ number, entries, encode }: Entries<T>): Message =>
  repeated(
    number,
    Object.entries(entries).map((entry) => nameAndValue(entry, encode)),
  );

const nameAndValue = <T>([name, value]: readonly [string, T], encode: (value: T) => Message): Message => [
  [1, name],
  [2, encode(value)],
];

/** gnostic's `Any` contains YAML; JSON is valid YAML. */
const anyValue = (value: unknown): Message => [[2, `${JSON.stringify(value)}\n`]];

const extensions = (number: number, described: object): Message =>
  named({
    number,
    entries: Object.fromEntries(Object.entries(described).filter(([name]) => name.startsWith("x-"))),
    encode: anyValue,
  });

const apiKeyItem = ({ type, name, in: location, description }: ApiKey): Message => [
  [
    2,
    [
      [1, type],
      [2, name],
      [3, location],
      [4, description],
    ],
  ],
];

const pathItem = (item: PathItemV2): Message => [
  [2, item.get && operationMessage(item.get)],
  [3, item.put && operationMessage(item.put)],
  [4, item.post && operationMessage(item.post)],
  [5, item.delete && operationMessage(item.delete)],
  [8, item.patch && operationMessage(item.patch)],
  ...repeated(9, item.parameters.map(parameterItem)),
];

const operationMessage = (operation: OperationV2): Message => [
  ...repeated(1, operation.tags),
  [3, operation.description],
  [5, operation.operationId],
  ...repeated(6, operation.produces),
  ...repeated(7, operation.consumes),
  ...repeated(8, (operation.parameters ?? []).map(parameterItem)),
  [9, named({ number: 1, entries: operation.responses, encode: responseValue })],
  ...extensions(13, operation),
];

const responseValue = ({ description, schema }: OperationV2["responses"][string]): Message => [
  [
    1,
    [
      [1, description],
      [2, schema && [[1, schemaMessage(schema)]]],
    ],
  ],
];

const parameterItem = (parameter: ParameterV2): Message => [[1, parameterMessage(parameter)]];

function parameterMessage({
  name,
  in: location,
  description,
  required,
  type,
  schema,
  uniqueItems,
}: ParameterV2): Message {
  if (location === "body") {
    return [
      [
        1,
        [
          [1, description],
          [2, name],
          [3, location],
          [4, required],
          [5, schema && schemaMessage(schema)],
        ],
      ],
    ];
  }
  // A parameter of a query has `allow_empty_value` as field 5: the fields after it have numbers that are one higher.
  const [message, more] = location === "query" ? [3, 1] : [4, 0];
  const parameter: Message = [
    [1, required],
    [2, location],
    [3, description],
    [4, name],
    [5 + more, type],
    [19 + more, uniqueItems],
  ];
  return [[2, [[message, parameter]]]];
}

const schemaMessage = (schema: OpenApiSchema): Message => [
  [1, schema.$ref],
  [2, schema.format],
  [4, schema.description],
  [5, schema.default === undefined ? undefined : anyValue(schema.default)],
  ...repeated(19, schema.required),
  ...repeated(20, schema.enum?.map(anyValue)),
  [21, schema.additionalProperties && [[1, schemaMessage(schema.additionalProperties)]]],
  [22, schema.type === undefined ? undefined : [[1, schema.type]]],
  [23, schema.items && [[1, schemaMessage(schema.items)]]],
  [25, schema.properties && named({ number: 1, entries: schema.properties, encode: schemaMessage })],
  ...extensions(31, schema),
];
