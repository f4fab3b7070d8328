import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canonicalQuantity } from "../../../src/machinery/schema/quantity.ts";

/** Each form is what Go's `resource.Quantity` makes of the text. */
describe("a quantity", () => {
  it("gets the largest suffix that leaves no fraction", () => {
    const forms = {
      "1000m": "1",
      "4000m": "4",
      "0.5": "500m",
      "1500m": "1500m",
      "0.0001": "100u",
      "1000": "1k",
      "1000k": "1M",
      "1e1": "10",
      "1000e3": "1e6",
      "-2000m": "-2",
      "1024Mi": "1Gi",
      "1048576Ki": "1Gi",
      "1536Mi": "1536Mi",
      "1.5Gi": "1536Mi",
      "1.1Ki": "1126400m",
      "0.5Ki": "512",
      "0": "0",
      "0m": "0",
      "-0.0": "0",
      ".": "0",
    };
    for (const [text, form] of Object.entries(forms)) assert.equal(canonicalQuantity(text), form, text);
  });

  it("stays as it is when Go takes it for canonical", () => {
    for (const text of ["1", "250m", "100k", "1E", "1E3", "1.500", "007", "+5", "110", "7Mi", "500Gi"]) {
      assert.equal(canonicalQuantity(text), text);
    }
  });

  it("is rounded up to a billionth, and is at most what 63 bits hold", () => {
    assert.equal(canonicalQuantity("0.1n"), "1n");
    assert.equal(canonicalQuantity("1e-100"), "1e-9");
    assert.equal(canonicalQuantity("1.0000000001"), "1000000001n");
    assert.equal(canonicalQuantity("1024Ei"), "9223372036854775807");
  });

  it("is not computed when it is longer than any amount", () => {
    for (const text of ["1".repeat(100_000), "1e999999999"]) assert.equal(canonicalQuantity(text), text);
  });

  it("is refused in Go's words", () => {
    const pattern = { message: /^quantities must match the regular expression / };
    for (const text of ["", "x", "1.2.3", "1 Gi", "1Gi3x", `${"1".repeat(100_000)}x`]) {
      assert.throws(() => canonicalQuantity(text), pattern, text.slice(0, 20));
    }
    for (const text of ["1mm", "1ei", "1K", "1+5", "1e"]) {
      assert.throws(() => canonicalQuantity(text), { message: "unable to parse quantity's suffix" }, text);
    }
  });
});
