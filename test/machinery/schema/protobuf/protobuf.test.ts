import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { compileDecoder } from "../../../../src/machinery/schema/compile-decoder.ts";
import { listSchema, statusSchema } from "../../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../../src/machinery/schema/protobuf/protobuf.ts";
import { ProtobufError } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  encodeWatchFrame,
} from "../../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { atomicList, int64, intOrString, object, quantity, string } from "../../../../src/machinery/schema/schema.ts";
import type { ObjectSchema } from "../../../../src/machinery/schema/schema.ts";
import { certificateSigningRequest, lease, serviceAccount } from "../sample-kinds.ts";
import { upstream } from "../upstream.ts";
import { valueOf } from "../values.ts";

interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
}

const kinds = new Map<string, ObjectSchema>([
  ["ServiceAccount", serviceAccount],
  ["ServiceAccountList", listSchema(serviceAccount as ObjectSchema as ObjectSchema<ApiObject>)],
  ["CertificateSigningRequest", certificateSigningRequest],
  ["Lease", lease],
  ["Status", statusSchema],
]);

for (const { name, json, envelope } of upstream.envelopes) {
  const bytes = Buffer.from(envelope, "base64");
  const schema = kinds.get(String(json["kind"])) as ObjectSchema<Typed>;

  test(`${name} is encoded byte for byte as Kubernetes encodes it`, () => {
    const { value } = compileDecoder(schema)(json);
    assert.equal(encodeEnvelope(compileProtobuf(schema), value).toString("hex"), bytes.toString("hex"));
  });

  test(`${name} of a Kubernetes client is decoded`, () => {
    const { apiVersion, kind, raw } = decodeEnvelope(bytes);
    const decoded = compileDecoder(schema)({ ...compileProtobuf(schema).decode(raw), apiVersion, kind });
    assert.deepEqual(decoded, { value: compileDecoder(schema)(json).value, unknownFields: [] });
  });
}

test("a watch frame is encoded as Kubernetes encodes it", () => {
  const { type, envelope, frame } = upstream.watchFrame;
  assert.equal(encodeWatchFrame(type, Buffer.from(envelope, "base64")).toString("base64"), frame);
});

const scalars = object({
  goType: "v1.Scalars",
  description: "",
  fields: {
    counts: { number: 2, schema: atomicList(int64), description: "" },
    port: { number: 3, schema: intOrString, presence: "pointer", description: "" },
    size: { number: 400, schema: quantity, presence: "pointer", description: "" },
    names: { number: 500, schema: atomicList(string), description: "" },
  },
});

test("an encoded value decodes to the same value", () => {
  for (const schema of [serviceAccount, certificateSigningRequest, lease, statusSchema, scalars] as ObjectSchema[]) {
    fc.assert(
      fc.property(valueOf(schema), (input) => {
        const { value } = compileDecoder(schema)({ ...(input as object), apiVersion: "", kind: "" });
        assert.deepEqual(
          compileDecoder(schema)(compileProtobuf(schema).decode(compileProtobuf(schema).encode(value))).value,
          value,
        );
      }),
      { numRuns: 60 },
    );
  }
});

test("a time without seconds is one of 1970, and an empty one is none", () => {
  const time = (hex: string): unknown => compileProtobuf(serviceAccount).decode(Buffer.from(hex, "hex"));
  assert.deepEqual(time("0a0442021005"), { metadata: { creationTimestamp: "1970-01-01T00:00:00Z" } });
  assert.deepEqual(time("0a024200"), { metadata: { creationTimestamp: null } });
});

test("damaged bytes decode or are refused with a ProtobufError", () => {
  const damaged = fc
    .tuple(
      fc.constantFrom(...upstream.envelopes),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }),
      fc.nat(),
    )
    .map(([{ json, envelope }, changes, cut]) => {
      const bytes = Buffer.from(envelope, "base64");
      for (const [at, byte] of changes) bytes[4 + (at % (bytes.length - 4))] = byte;
      return { schema: kinds.get(String(json["kind"])), bytes: bytes.subarray(0, bytes.length - (cut % 20)) };
    });
  fc.assert(
    fc.property(damaged, ({ schema, bytes }) => {
      assert.ok(schema);
      try {
        compileProtobuf(schema).decode(decodeEnvelope(bytes).raw);
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test("random bytes decode or are refused with a ProtobufError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const schema of kinds.values()) {
        try {
          compileProtobuf(schema).decode(bytes);
        } catch (error) {
          assert.ok(error instanceof ProtobufError, String(error));
        }
      }
    }),
  );
});

const refusals: readonly { readonly name: string; readonly hex: string; readonly message: string }[] = [
  { name: "a length beyond the end", hex: "0aff01", message: "unexpected EOF" },
  { name: "a length beyond all memory", hex: "0affffffffffffffffff01", message: "unexpected EOF" },
  { name: "a tag that breaks off", hex: "8a", message: "unexpected EOF" },
  { name: "a varint that never ends", hex: "20" + "ff".repeat(11), message: "proto: integer overflow" },
  { name: "field number zero", hex: "0000", message: "proto: illegal tag 0 (wire type 0)" },
  { name: "a group", hex: "0b", message: "proto: illegal wireType 3" },
  { name: "a number where a message belongs", hex: "0801", message: "proto: wrong wireType = 0" },
];

for (const { name, hex, message } of refusals) {
  test(`${name} is refused`, () => {
    assert.throws(() => compileProtobuf(serviceAccount).decode(Buffer.from(hex, "hex")), {
      name: "ProtobufError",
      message,
    });
  });
}

test("fields that the schema does not name are skipped", () => {
  const unknown = Buffer.from("a0065aa90600000000000000ffad0600000000a206036162632001", "hex");
  assert.deepEqual(compileProtobuf(serviceAccount).decode(unknown), { automountServiceAccountToken: true });
});

test("a message that comes in parts is merged, and the last of any other field counts", () => {
  const codec = compileProtobuf(lease);
  const part = (value: object): Buffer =>
    codec.encode(compileDecoder(lease)({ apiVersion: "", kind: "", ...value }).value);
  const parts = [
    part({ metadata: { name: "a", labels: { one: "1", two: "2" }, finalizers: ["x"] }, spec: { holderIdentity: "h" } }),
    part({ metadata: { name: "b", labels: { two: "3" }, finalizers: ["y"] }, spec: { leaseTransitions: 4 } }),
  ];
  const { metadata, spec } = codec.decode(Buffer.concat(parts)) as Record<string, Record<string, unknown>>;
  assert.equal(metadata?.["name"], "b");
  assert.deepEqual(metadata?.["labels"], { one: "1", two: "3" });
  assert.deepEqual(metadata?.["finalizers"], ["x", "y"]);
  assert.deepEqual(spec, { holderIdentity: "h", leaseTransitions: 4 });
});

test("empty JSON inside a message is null", () => {
  // metadata (1) with managedFields (17) with fieldsV1 (7) with an empty text (1).
  const bytes = Buffer.from("0a078a01043a020a00", "hex");
  assert.deepEqual(compileProtobuf(serviceAccount).decode(bytes), {
    metadata: { managedFields: [{ fieldsV1: null }] },
  });
});

test("JSON inside a message counts against the message's limit of values, wherever it is", () => {
  const managedFields = (entries: number): Buffer => {
    const fieldsV1 = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f:${index}`, {}]));
    const metadata = { managedFields: Array.from({ length: entries }, () => ({ manager: "m", fieldsV1 })) };
    const { value } = compileDecoder(serviceAccount)({ apiVersion: "", kind: "", metadata });
    return compileProtobuf(serviceAccount).encode(value);
  };
  compileProtobuf(serviceAccount).decode(managedFields(12));
  assert.throws(() => compileProtobuf(serviceAccount).decode(managedFields(13)), { code: 413 });
});

test("bytes without the magic prefix are refused as an envelope", () => {
  assert.throws(() => decodeEnvelope(Buffer.from('{"kind":"x"}')), {
    message: "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
  });
  assert.throws(() => decodeEnvelope(Buffer.alloc(0)), { message: "empty data" });
  assert.throws(() => decodeEnvelope(Buffer.from("k8s\0")), { message: "empty body" });
  // A number in the place of contentType.
  assert.throws(() => decodeEnvelope(Buffer.from("k8s\0\x20\0")), ProtobufError);
});

test("__proto__ as a map key does not change any prototype", () => {
  const { value } = compileDecoder(serviceAccount)(JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}'));
  const labels = compileProtobuf(serviceAccount).decode(compileProtobuf(serviceAccount).encode(value))["metadata"];
  assert.equal(JSON.stringify(labels).includes('"labels":{"__proto__":"x"}'), true);
});
