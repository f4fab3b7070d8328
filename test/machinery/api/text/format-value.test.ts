import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatValue, NamedText } from "../../../../src/machinery/api/text/format-value.ts";

describe("a value in a fault", () => {
  const text = '<a>&"\u0001é\u2028';

  it("is a plain text as Go quotes it", () => {
    assert.equal(formatValue(text), String.raw`"<a>&\"\x01é\u2028"`);
  });

  it("is JSON where the text's type has a name in Go, and where it is a structure", () => {
    assert.equal(formatValue(new NamedText(text)), String.raw`"\u003ca\u003e\u0026\"\u0001é\u2028"`);
    assert.equal(formatValue({ a: text }), String.raw`{"a":"\u003ca\u003e\u0026\"\u0001é\u2028"}`);
  });

  it("is shortened, whatever it is", () => {
    for (const value of ["x".repeat(10_000), new NamedText("x".repeat(10_000))])
      assert.ok(formatValue(value).length < 4200);
  });
});
