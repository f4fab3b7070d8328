import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseQuantity } from "../../../src/machinery/api/quantity.ts";
import { kubernetesEnvironment } from "../../../src/machinery/expressions/kubernetes-environment.ts";
import { CostBudget } from "../../../src/machinery/expressions/cost-budget.ts";
import { compileExpression } from "../../../src/machinery/expressions/metered-expression.ts";
import { SeededRandom } from "../../reliability/seeded-random.ts";

const canonicalQuantity = (text: string): string => parseQuantity(text).canonical;

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
    const largest = "9223372036854775807";
    for (const text of ["1024Ei", "9700060170214309Gi", "44.Ei", "8205023688067084003.06Gi", "01048Ei"]) {
      assert.equal(canonicalQuantity(text), largest);
      assert.equal(canonicalQuantity(`-${text}`), `-${largest}`);
    }
  });

  it("loses the leading zeros and the sign where Go computes it", () => {
    const forms = { "0093Pi": "93Pi", "+847Ti": "847Ti", "10.Pi": "10Pi", "+6Ei": "6Ei", Gi: "0" };
    for (const [text, form] of Object.entries(forms)) assert.equal(canonicalQuantity(text), form, text);
  });

  it("keeps amounts of 10^21, of which Go loses the exponent", () => {
    const forms = { "3000E": "3000E", "5000000P": "5000E", "1e21": "1e21", "1000000e18": "1e24" };
    for (const [text, form] of Object.entries(forms)) assert.equal(canonicalQuantity(text), form, text);
  });

  it("needs a digit where Go computes it", () => {
    for (const text of ["Pi", "+Ei", "e-100", "-.e-10"]) {
      assert.throws(() => canonicalQuantity(text), { message: "unable to parse numeric part of quantity" }, text);
    }
  });

  it("is the same amount in its canonical form, there and in CEL expressions", () => {
    const random = new SeededRandom(7);
    const environment = kubernetesEnvironment().registerVariable("object", "dyn");
    const isSame = compileExpression("quantity(object.one) == quantity(object.other)", { environment });
    const digits = (count: number): string =>
      Array.from({ length: count }, () => random.pick(["0", "0", "1", "5", "8", "9"])).join("");
    const suffixes: readonly [string, ...string[]] = [
      "",
      "n",
      "u",
      "m",
      "k",
      "M",
      "G",
      "T",
      "P",
      "E",
      "Ki",
      "Mi",
      "Gi",
      "Ti",
      "Pi",
      "Ei",
      "e3",
      "E-7",
      "e20",
    ];
    for (let round = 0; round < 2000; round += 1) {
      const fraction = random.pick([true, false]) ? `.${digits(random.integer(0, 13))}` : "";
      const one = `${random.pick(["", "-", "+"])}${digits(random.integer(1, 24))}${fraction}${random.pick(suffixes)}`;
      const { canonical, nanos } = parseQuantity(one);
      const again = parseQuantity(canonical);
      assert.deepEqual([again.canonical, again.nanos], [canonical, nanos], one);
      assert.equal(isSame.evaluate({ object: { one, other: canonical } }, new CostBudget(1_000_000)), true, one);
    }
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
