import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonSyntaxError, maximumJsonDepth } from "../../../src/machinery/schema/json-reader.ts";
import {
  parsedValue,
  parseExactly,
  parseJson,
  parseJsonBytes,
  parseJsonInSteps,
} from "../../../src/machinery/schema/parse-json.ts";
import { upstream } from "./upstream.ts";

test("invalid JSON is refused in Go's words", async (t) => {
  for (const [text, message] of Object.entries(upstream.syntaxErrors)) {
    await t.test(JSON.stringify(text), () => {
      assert.throws(
        () => parseJson(text),
        (error) => error instanceof JsonSyntaxError && error.message === message,
      );
    });
  }
});

// Not compared with JSON.parse, which may read other keys (see `mayBeMisread`).
test("parseJson reads what JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t"), (written, space) => {
      const text = JSON.stringify(written, undefined, space);
      const { value, ...found } = parseJson(text);
      assert.equal(JSON.stringify(value, undefined, space), text);
      assert.deepEqual(found, { duplicateFields: [], repeatedKeys: [] });
    }),
  );
});

test("a value that is already parsed is treated like its JSON text", () => {
  const odd = fc.constantFrom(undefined, -0, NaN, 1e21, 0.5, "\ud800", new Date(0), Buffer.from("a"), "\u{1f600}");
  const members = fc.dictionary(fc.string({ unit: "binary" }), fc.oneof(fc.jsonValue(), odd));
  fc.assert(
    fc.property(members, (value) => {
      assert.deepEqual(parsedValue(value), parseJson(JSON.stringify(value)));
    }),
  );
  const plain = { metadata: { labels: { a: "\u{1f600}" } }, list: [1, true, null] };
  assert.equal(parsedValue(plain).value, plain);
  assert.throws(() => parsedValue({ list: Array(30_000).fill(1) }), { code: 413 });
});

test("parseJson refuses what JSON.parse refuses", () => {
  const damaged = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, insert]) => {
    const position = at % (json.length + 1);
    return json.slice(0, position) + insert + json.slice(position + 1);
  });
  fc.assert(
    fc.property(damaged, (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      if (isJson) parseJson(text);
      else assert.throws(() => parseJson(text), JsonSyntaxError);
    }),
  );
});

test("a duplicate member is named by its path, and the last one wins", () => {
  const text = '{"metadata":{"labels":{"d":"1","d":"2","d":"3"}},"secrets":[{"y":1,"y":2}],"a:b":":","x":"\\"","x":1}';
  assert.deepEqual(parseJson(text), {
    value: { metadata: { labels: { d: "3" } }, secrets: [{ y: 2 }], "a:b": ":", x: 1 },
    duplicateFields: [
      { path: "metadata.labels.d", position: text.indexOf('"d":"2"') },
      { path: "secrets[0].y", position: text.indexOf('"y":2') },
      { path: "x", position: text.indexOf('"x":1') },
    ],
    repeatedKeys: ["d", "d", "y", "x"].map((key) => ({ key, line: 1 })),
  });
});

test("a repeated key is named with its line", () => {
  assert.deepEqual(parseJson('{\n"a": 1,\n"b": {\n"c": 1, "c": 2},\n"a": 2}').repeatedKeys, [
    { key: "c", line: 4 },
    { key: "a", line: 5 },
  ]);
});

test("a fault in bytes that are not UTF-8 names the byte", () => {
  const read = (bytes: number[]) => parseJsonBytes(Buffer.from(bytes));
  assert.throws(() => read([0xff]), { message: "invalid character 'ÿ' looking for beginning of value" });
  assert.throws(() => read([0x81]), { message: "invalid character '\\u0081' looking for beginning of value" });
  assert.throws(() => read([0x7b, 0x22, 0xff, 0x22, 0xfe]), { message: "invalid character 'þ' after object key" });
  assert.equal(read([0x22, 0xff, 0x22]).value, "\ufffd");
});

test("a duplicate object is merged into the first", () => {
  const { value } = parseJson('{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}');
  assert.deepEqual(value, { metadata: { name: "a", namespace: "b" } });
});

test("at most 100 duplicate members are named", () => {
  const members = Array.from({ length: 250 }, (_, index) => `"k${index >> 1}":1`);
  assert.equal(parseJson(`{${members.join(",")}}`).duplicateFields.length, 100);
});

test("__proto__ is a member like any other", () => {
  for (const text of ['{"__proto__":{"isAdmin":true}}', '{"__proto__":1,"__proto__":{"isAdmin":true}}']) {
    const { value } = parseJson(text);
    assert.deepEqual(Object.entries(value as object), [["__proto__", { isAdmin: true }]]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal("isAdmin" in {}, false);
  }
});

test("nesting is bounded, with or without duplicates", () => {
  const nested = (depth: number, inner: string): string => "[".repeat(depth) + inner + "]".repeat(depth);
  assert.doesNotThrow(() => parseJson(nested(maximumJsonDepth, "")));
  assert.doesNotThrow(() => parseJson(nested(maximumJsonDepth - 1, '{"a":1,"a":1}')));
  for (const depth of [maximumJsonDepth + 1, 1_000_000]) {
    assert.throws(() => parseJson(nested(depth, "")), { message: "invalid character '[' exceeded max depth" });
  }
});

test("strings of escaped quotes and backslashes are read as they were written, beside any numbers", () => {
  const odd = fc.string({ unit: fc.constantFrom('"', "\\", "\n", "a", "\u{1f600}"), maxLength: 12 });
  fc.assert(
    fc.property(fc.dictionary(odd, odd), fc.constantFrom(1, 1.5), (members, number) => {
      const text = JSON.stringify({ number, members });
      assert.deepEqual(parseJson(text).value, { number, members: { ...members } });
    }),
  );
  assert.equal(parseJson('"\\\\\\""').value, '\\"');
  for (const text of ['"a', '"\\"', '{"a":1.5,"b":"\\"}']) {
    assert.throws(() => parseJson(text), { message: "unexpected end of JSON input" });
  }
});

test("a key with escapes is read as it was written, also after an object whose key is the start of its text", () => {
  const odd = fc.string({
    unit: fc.constantFrom('"', "\\", "\n", "a", "\u00e9", "\u{1f600}"),
    minLength: 1,
    maxLength: 12,
  });
  let number = 0;
  fc.assert(
    fc.property(odd, (key) => {
      const textOfKey = JSON.stringify(key)
        .slice(1, 1 + key.length)
        .toWellFormed();
      number += 1;
      const first = `only here ${number}`;
      for (const own of [textOfKey, key]) {
        for (const parse of [parseExactly, (text: string) => parseJson(text).value]) {
          const object = Object.fromEntries([
            [first, 1],
            [own, 2],
          ]);
          assert.deepEqual(Object.entries(parse(JSON.stringify(object)) as object), Object.entries(object));
        }
      }
    }),
  );
});

test("a long text is read in steps, whatever is in it", () => {
  const stepsOf = (text: string): number => [...parseJsonInSteps(text)].length;
  const list = (item: string): string => `{"list":[${`${item},`.repeat(10_000)}0]}`;
  const members = Array.from({ length: 10_000 }, (_, index) => `"${index}":0`).join(",");
  assert.ok(stepsOf(list("1.0")) >= 10, "numbers");
  assert.ok(stepsOf(list("[1]")) >= 2, "lists");
  assert.ok(stepsOf(`{"a":{${members}},"a":{${members}}}`) >= 20, "repeated members");
});
