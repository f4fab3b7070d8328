import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isSemanticallyEqual } from "../../../../src/machinery/api/json/json-equality.ts";
import { parseExactly } from "../../../../src/machinery/schema/parse-json.ts";

describe("two JSON values", () => {
  it("are the same as themselves, and as their copy with keys in another order", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.ok(isSemanticallyEqual(value, reordered(parseExactly(JSON.stringify(value)))));
      }),
    );
  });

  it("are equal when one omits what is empty in the other", () => {
    assert.ok(isSemanticallyEqual({ a: 1, b: [], c: {}, d: null }, { a: 1 }));
    assert.ok(isSemanticallyEqual(undefined, {}));
  });

  it("differ by any scalar, by the order of a list, and by an own key that looks inherited", () => {
    assert.ok(!isSemanticallyEqual({ a: 0 }, {}));
    assert.ok(!isSemanticallyEqual({ a: "" }, {}));
    assert.ok(!isSemanticallyEqual([1, 2], [2, 1]));
    assert.ok(!isSemanticallyEqual([1], { 0: 1 }));
    assert.ok(!isSemanticallyEqual(JSON.parse('{"__proto__":{"a":1}}'), {}));
    assert.ok(!isSemanticallyEqual({}, JSON.parse('{"constructor":"x"}')));
  });
});

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, reordered(one)]),
  );
}
