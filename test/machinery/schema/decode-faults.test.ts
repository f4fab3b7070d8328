import assert from "node:assert/strict";
import { test } from "node:test";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { parseJson } from "../../../src/machinery/schema/parse-json.ts";
import { strictFaults } from "../../../src/machinery/schema/decode-faults.ts";
import { serviceAccount } from "./sample-kinds.ts";
import { upstream } from "./upstream.ts";

function faultsOf(text: string): string[] {
  const { value, duplicateFields } = parseJson(text);
  return strictFaults({ duplicateFields, unknownFields: compileDecoder(serviceAccount)(value).unknownFields });
}

test("strict validation reports the same faults as Kubernetes", () => {
  const strict = upstream.decodings.filter(({ kind, strict: faults }) => kind === "ServiceAccount" && faults);
  assert.ok(strict.length > 3);
  for (const { text, strict: faults } of strict) assert.deepEqual(faultsOf(text), faults, text);
});

test("duplicate members inside an unknown field are ignored", () => {
  assert.deepEqual(faultsOf('{"x":{"a":1,"a":2},"x":1,"xy":[{"b":1,"b":2}],"metadata":{"name":"a","name":"b"}}'), [
    'unknown field "x"',
    'unknown field "xy"',
    'duplicate field "metadata.name"',
  ]);
});

test("unknown and duplicate fields are named in the order in which the text has them", () => {
  const text = '{"z":1,"metadata":{"name":"a","q":1,"name":"b"},"kind":"","secrets":[{"b":1}],"kind":"","a":1}';
  assert.deepEqual(faultsOf(text), [
    'unknown field "z"',
    'unknown field "metadata.q"',
    'duplicate field "metadata.name"',
    'unknown field "secrets[0].b"',
    'duplicate field "kind"',
    'unknown field "a"',
  ]);
});
