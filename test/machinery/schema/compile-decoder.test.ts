import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { DecodeContext } from "../../../src/machinery/schema/decode-context.ts";
import { TypeMismatch } from "../../../src/machinery/schema/decode-faults.ts";
import type { Decoded } from "../../../src/machinery/schema/compile-decoder.ts";
import { parseJson } from "../../../src/machinery/schema/parse-json.ts";
import {
  any,
  atomicList,
  bytes,
  int32,
  intOrString,
  mapOf,
  object,
  quantity,
  string,
} from "../../../src/machinery/schema/schema.ts";
import type { Field, ObjectSchema, Schema } from "../../../src/machinery/schema/schema.ts";
import { omitEmpty, struct } from "../../../src/machinery/schema/struct.ts";
import { certificateSigningRequest, lease, serviceAccount } from "./sample-kinds.ts";
import { upstream } from "./upstream.ts";
import { valueOf } from "./values.ts";

const kinds = new Map<string, ObjectSchema>([
  ["ServiceAccount", serviceAccount],
  ["CertificateSigningRequest", certificateSigningRequest],
  ["Lease", lease],
]);

const decodeText = (schema: ObjectSchema, text: string): Decoded<unknown> =>
  compileDecoder(schema)(parseJson(text).value);

test("a body is decoded as Kubernetes decodes it", async (t) => {
  for (const { kind, text, error, value, strict } of upstream.decodings) {
    await t.test(`${kind} ${text}`, () => {
      const schema = kinds.get(kind);
      assert.ok(schema);
      if (error !== undefined) {
        assert.throws(
          () => decodeText(schema, text),
          (thrown) => thrown instanceof TypeMismatch && thrown.message === error,
          error,
        );
        return;
      }
      const decoded = decodeText(schema, text);
      assert.deepEqual(decoded.value, { apiVersion: "", kind: "", ...value });
      const unknown = (strict ?? []).filter((one) => one.startsWith("unknown"));
      assert.deepEqual(
        decoded.unknownFields.map(({ path }) => `unknown field ${JSON.stringify(path)}`),
        unknown,
      );
    });
  }
});

test("decoding is idempotent", () => {
  for (const schema of kinds.values()) {
    fc.assert(
      fc.property(valueOf(schema), (input) => {
        const once = compileDecoder(schema)(input).value;
        assert.deepEqual(compileDecoder(schema)(once), { value: once, unknownFields: [] });
        assert.equal(JSON.stringify(compileDecoder(schema)(once).value), JSON.stringify(once));
      }),
      { numRuns: 100 },
    );
  }
});

test("decoding any JSON either succeeds or throws a TypeMismatch", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom("metadata", "spec", "status", "secrets"),
      (value, name) => {
        for (const schema of kinds.values()) {
          try {
            compileDecoder(schema)({ [name]: value });
          } catch (error) {
            assert.ok(error instanceof TypeMismatch);
          }
        }
      },
    ),
  );
});

test("decoding does not modify its input", () => {
  fc.assert(
    fc.property(valueOf(serviceAccount), (input) => {
      const before = JSON.stringify(input);
      compileDecoder(serviceAccount)(input);
      assert.equal(JSON.stringify(input), before);
    }),
  );
});

const sample = (field: Partial<Field> & { readonly schema: Schema }): ObjectSchema =>
  object({ goType: "v1.Sample", description: "", fields: { field: { number: 1, description: "", ...field } } });

test("a default replaces a missing, null or empty field", () => {
  const schema = sample({ schema: string, default: "Opaque" });
  for (const text of ["{}", '{"field":null}', '{"field":""}']) {
    assert.deepEqual(decodeText(schema, text).value, { field: "Opaque" });
  }
});

test("a default does not replace the empty value of a pointer", () => {
  const schema = sample({ schema: int32, presence: "pointer", default: 5 });
  assert.deepEqual(decodeText(schema, '{"field":0}').value, { field: 0 });
  assert.deepEqual(decodeText(schema, "{}").value, { field: 5 });
});

test("fields and map keys are decoded into a fixed order", () => {
  const text = '{"metadata":{"labels":{"b":"1","a":"2"},"name":"x"},"kind":"ServiceAccount","apiVersion":"v1"}';
  assert.equal(
    JSON.stringify(decodeText(serviceAccount, text).value),
    '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"x","labels":{"a":"2","b":"1"}}}',
  );
});

test("__proto__ stays a plain key of a map", () => {
  const schema = sample({ schema: mapOf(string) });
  const { value } = decodeText(schema, '{"field":{"__proto__":"x","a":null}}');
  assert.equal(JSON.stringify(value), '{"field":{"__proto__":"x","a":""}}');
});

test("at most 100 unknown fields are named", () => {
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`unknown${index}`, index]));
  const { unknownFields } = compileDecoder(serviceAccount)(many);
  assert.equal(unknownFields.length, 100);
  assert.equal(unknownFields[99]?.path, "unknown99");
});

test("a number must fit the type of its field", () => {
  assert.deepEqual(decodeText(sample({ schema: intOrString }), '{"field":"http"}').value, { field: "http" });
  assert.deepEqual(decodeText(sample({ schema: any }), '{"field":[1.5]}').value, { field: [1.5] });
  assert.throws(() => decodeText(sample({ schema: intOrString }), '{"field":1.5}'), {
    message: "json: cannot unmarshal number 1.5 into Go struct field Sample.field of type int32",
  });
});

test("a time that cannot be read is told before the wrong types that come first", () => {
  const beforeTime = `{"metadata":{"name":5},"spec":{"leaseDurationSeconds":"a","renewTime":"soon","holderIdentity":1}}`;
  assert.throws(() => decodeText(lease, beforeTime), { name: "TypeMismatch", message: /^parsing time "soon"/ });
  const ofAnotherType = `{"metadata":{"name":5,"creationTimestamp":7}}`;
  assert.throws(() => decodeText(lease, ofAnotherType), {
    message: "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
  });
});

test("a quantity that cannot be read is told before the wrong types that come first", () => {
  const schema = struct("v1.Sample", "", { name: omitEmpty(1, string, ""), size: omitEmpty(2, quantity, "") });
  assert.throws(() => decodeText(schema, `{"name":5,"size":"x"}`), { message: /^quantities must match/ });
});

test("of several wrong types the first is told, wherever it is", () => {
  const first = `{"metadata":{"labels":{"a":1},"finalizers":[true],"name":5},"spec":{"leaseDurationSeconds":"a"}}`;
  assert.throws(() => decodeText(lease, first), {
    message: "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  });
});

test("a text that is not a quantity is refused", () => {
  const schema = sample({ schema: quantity });
  assert.deepEqual(decodeText(schema, '{"field":"100m"}').value, { field: "100m" });
  assert.throws(
    () => decodeText(schema, '{"field":"ten"}'),
    /^TypeMismatch: quantities must match the regular expression/,
  );
});

test("a long text that is not a quantity is refused as fast as a short one", () => {
  // A pattern with a choice for each digit would take hours.
  const text = JSON.stringify({ field: `${"1".repeat(2_000_000)}x` });
  assert.throws(() => decodeText(sample({ schema: quantity }), text), /^TypeMismatch: quantities must match/);
});

test("base64 with stray bits or line breaks is decoded to its canonical form", () => {
  const decode = compileDecoder(sample({ schema: bytes }));
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
      fc.nat(15),
      fc.nat(60),
      (octets, strayBits, breakAt) => {
        const canonical = Buffer.from(octets).toString("base64");
        const padding = canonical.length - canonical.replace(/=+$/, "").length;
        const last = canonical.length - padding - 1;
        const digit =
          digits.indexOf(canonical[last] ?? "") | (padding === 0 ? 0 : strayBits & (padding === 1 ? 3 : 15));
        const stray = last < 0 ? canonical : canonical.slice(0, last) + (digits[digit] ?? "") + "=".repeat(padding);
        const sent = `${stray.slice(0, breakAt)}\r\n${stray.slice(breakAt)}`;
        assert.equal((decode({ field: sent }).value as { field: string }).field, canonical); // of the schema
      },
    ),
  );
});

test("a body of many wrong types costs one fault: each would cost microseconds", (t) => {
  const fields = { texts: omitEmpty(1, atomicList(string), ""), bytes: omitEmpty(2, mapOf(bytes), "") };
  const decode = compileDecoder(struct("v1.Many", "", fields));
  const mismatch = t.mock.method(DecodeContext.prototype, "mismatch");
  for (const value of [0, true, {}]) {
    mismatch.mock.resetCalls();
    const many = Array.from<unknown>({ length: 1000 }).fill(value);
    const body = { texts: many, bytes: Object.fromEntries(many.entries()) };
    assert.throws(() => decode(body), TypeMismatch);
    assert.equal(mismatch.mock.callCount(), 1);
  }
});
