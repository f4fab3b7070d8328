import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { applyMergePatch, parseMergePatch } from "../../../../src/machinery/registry/patch/merge-patch.ts";
import { isSameJson } from "../../../../src/machinery/registry/patch/json-value.ts";

/** RFC 7386 appendix A: original, patch, result. */
const appendixA: readonly (readonly [unknown, unknown, unknown])[] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
const isObject = (value: unknown): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function withoutNulls(value: Json): Json {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
}

/** The patch that turns one null-free document into another. */
function diff(before: Json, after: Json): Json {
  if (!isObject(before) || !isObject(after)) return after;
  const patch: Record<string, Json> = {};
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (old === undefined) patch[key] = value;
    else if (!isSameJson(old, value)) patch[key] = diff(old, value);
  }
  return patch;
}

const key = fc.constantFrom("a", "b", "c", "d");
const { document } = fc.letrec<{ document: Json }>((tie) => ({
  document: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Json>(null, 1, "x", true),
    fc.array(fc.integer(), { maxLength: 2 }),
    fc.dictionary(key, tie("document"), { maxKeys: 3 }),
  ),
}));
const objects = fc.dictionary(key, document);

describe("a merge patch", () => {
  for (const [original, patch, expected] of appendixA) {
    it(`turns ${JSON.stringify(original)} by ${JSON.stringify(patch)} into ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(applyMergePatch(original, patch), expected);
    });
  }

  it("made by comparing two documents turns one into the other", () => {
    fc.assert(
      fc.property(objects, objects, (one, other) => {
        const [before, after] = [withoutNulls(one), withoutNulls(other)];
        assert.ok(isSameJson(applyMergePatch(before, diff(before, after)), after));
      }),
    );
  });

  it("changes nothing the second time, and never what it is given", () => {
    fc.assert(
      fc.property(objects, objects, (original, patch) => {
        const before = JSON.stringify([original, patch]);
        const once = applyMergePatch(original, patch);
        assert.deepEqual(applyMergePatch(once, patch), once);
        assert.equal(JSON.stringify([original, patch]), before);
      }),
    );
  });

  it("keeps a member named __proto__ a plain member", () => {
    const result = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}')) as object;
    assert.deepEqual(Object.keys(result), ["__proto__"]);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
  });

  it("must be an object", () => {
    const words = new Map<unknown, string>([
      [null, "Invalid JSON Patch"],
      [[], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"],
      ["x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"],
      [3, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"],
    ]);
    for (const [body, message] of words) {
      assert.throws(
        () => parseMergePatch(body, { isStrict: true }),
        (error) => error instanceof ApiError && error.code === 400 && error.message === message,
      );
    }
  });

  it("is refused without words of a decoder when faults are ignored, and does not apply when it is a list", () => {
    const refusal = (body: unknown): unknown => {
      try {
        return parseMergePatch(body, { isStrict: false });
      } catch (error) {
        assert.ok(error instanceof ApiError);
        return [error.code, error.message.split(":")[0]];
      }
    };
    for (const body of [null, "x", 3, true]) assert.deepEqual(refusal(body), [400, "Invalid JSON Patch"]);
    assert.deepEqual(refusal([]), [422, ' "" is invalid']);
    assert.deepEqual(refusal({}), {});
  });
});
