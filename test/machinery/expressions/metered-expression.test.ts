import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CostBudget, OverBudget } from "../../../src/machinery/expressions/cost-budget.ts";
import { kubernetesEnvironment } from "../../../src/machinery/expressions/kubernetes-environment.ts";
import { compileExpression, summaryOf } from "../../../src/machinery/expressions/metered-expression.ts";
import { cpuSecondsOf } from "../../cpu-seconds-of.ts";

const environment = kubernetesEnvironment().registerVariable("object", "dyn");
const run = (source: string, object: unknown = {}, steps = 1_000_000): unknown =>
  compileExpression(source, { environment }).evaluate({ object }, new CostBudget(steps));

const many = Array.from({ length: 10_000 }, (_, index) => `item ${index}`);

describe("a metered expression", () => {
  for (const source of [
    "object.all(a, object.exists(b, a == b))",
    "object.map(a, object.map(b, a + b)).size() > 0",
    "object.filter(a, object.filter(b, object.exists_one(c, c == b)).size() > 0).size() > 0",
    "object.all(a, a in object)",
    "object.all(a, object.exists(b, a == b)) || true",
    "object.all(a, object == object + [])",
    "object.exists(a, [object + object].exists(copy, copy.size() == 0))",
    'object.all(a, object.join(",").contains("x") == false)',
    'object.join("0123456789".split("").join(object.join("")) + object.join("")).size() > 0',
  ]) {
    it(`is stopped when it takes too many steps: ${source}`, async () => {
      const seconds = await cpuSecondsOf(() => assert.throws(() => run(source, many), OverBudget));
      assert.ok(seconds < 5, "it must be stopped early");
    });
  }

  const half = "a".repeat(175_000);
  const maps = new Map(many.map((one) => [one, one]));
  for (const [source, object] of [
    ["object.long.contains(object.part)", { long: half.repeat(4), part: `${half}b${half}` }],
    ["object.long.lastIndexOf(object.part) < 0", { long: half.repeat(4), part: `${half}${half}b` }],
    ["object.all(a, a in object)", maps],
    ["object.all(a, size(object) > 0)", maps],
    ["object.all(a, object == object.filter(b, true))", many],
    [`[${"object,".repeat(1000)}].all(a, a != {})`, Object.fromEntries(maps)],
  ] as const) {
    it(`is stopped although each of its parts is small: ${source.slice(0, 60)}`, () => {
      assert.throws(() => run(source, object), OverBudget);
    });
  }

  it("is stopped, and does not fail with an error that came before", () => {
    assert.throws(() => run("object.exists(a, a[0] == 'x')", many), OverBudget);
    assert.throws(() => run("object[0][0] == 'x' || object.all(a, object.exists(b, a == b))", many), OverBudget);
  });

  it("is stopped before byte strings and nested lists grow too large", () => {
    const doubled = (first: string, join: (one: string) => string, last: (one: string) => string): string =>
      Array.from({ length: 25 })
        .reduceRight<string>((inner, _, index) => `[${join(`a${index}`)}].all(a${index + 1}, ${inner})`, last("a25"))
        .replace(/^/, `[${first}].all(a0, `) + ")";
    assert.throws(
      () =>
        run(
          doubled(
            "b'xxxxxxxxxx'",
            (one) => `${one} + ${one}`,
            (one) => `size(${one}) > 0`,
          ),
        ),
      OverBudget,
    );
    const nested = doubled(
      "object",
      (one) => `[${one}, ${one}]`,
      (one) => `${one} == [${one}[0], [${one}[0][0], ${one}[1][0]]]`,
    );
    assert.equal(run(nested, many), true);
  });

  it("is stopped before a text grows too large", () => {
    let source = "object";
    for (let doubling = 0; doubling < 40; doubling += 1)
      source = `[${source}].map(a${doubling}, a${doubling} + a${doubling})[0]`;
    assert.throws(() => run(`size(${source}) > 0`, "x".repeat(100)), /cost limit|depth|nest/i);
    const flat = Array.from({ length: 25 }, (_, index) => `[0, 1, 2, 3].all(v${index}, `).join("");
    assert.throws(() => run(`${flat}true${")".repeat(25)}`), OverBudget);
  });

  it("is stopped when patterns take too long", () => {
    const text = "x".repeat(100_000);
    assert.throws(
      () => run('object.text.exists(t, object.long.matches("(x+x+)+y{2,50}"))', { text: many, long: text }),
      OverBudget,
    );
    assert.throws(
      () => run("object.patterns.exists(p, 'a'.matches(p))", { patterns: many.map((one) => `${one}{500}`) }),
      OverBudget,
    );
    assert.throws(() => run("'a'.matches(object.pattern)", { pattern: "(a{1000})".repeat(100) }), /too large/);
    assert.throws(() => run("object.matches('\\\\p{L}*\\\\d')", "x".repeat(1_000_000)), OverBudget);
  });

  it("counts every kind of part, and every item of a loop", () => {
    const steps = (source: string, object: unknown): number => {
      let low = 0;
      let high = 1_000_000;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        try {
          run(source, object, middle);
          high = middle;
        } catch {
          low = middle + 1;
        }
      }
      return low;
    };
    const few = many.slice(0, 10);
    for (const source of [
      "object.all(a, a != '')",
      "object.exists(a, a == '')",
      "object.exists_one(a, a == '')",
      "object.map(a, a + a)",
      "object.filter(a, a == '')",
      "object.all(a, has(object.b) == false)",
    ]) {
      assert.ok(steps(source, many) - steps(source, few) >= many.length - few.length, source);
    }
    for (const source of [
      "{'a': 1}",
      "[1, 2]",
      "true ? 1 : 2",
      "!true || false",
      "-(1 + 2)",
      "size('a')",
      "has(object.a)",
    ]) {
      assert.ok(steps(source, {}) >= 1, source);
    }
  });

  it("gives the same results as without a meter", () => {
    assert.equal(run("object.a.b.all(x, x > 1) && object.a.b.map(x, x * 2)[0] == 4", { a: { b: [2n, 3n] } }), true);
    assert.equal(run("[object.a].map(x, x + x)[0]", { a: "b" }), "bb");
    assert.equal(run("has(object.a) ? object.a : 'none'", {}), "none");
  });

  it("takes no list for a key, whose text may have no bound", () => {
    const binds = Array.from({ length: 24 }, (_, at) => `[[a${at}, a${at}]].all(a${at + 1}, `).join("");
    for (const source of [
      "{a24: 1}.size() > 0",
      "{'a': 1}[a24] == 1",
      "object[a24] == 1",
      "object[?a24].hasValue()",
      "dyn(a24) in {'a': 1}",
      "{b'x': 1}.size() > 0",
    ]) {
      const fault = /unsupported key type: lists and bytes are no keys/;
      assert.throws(() => run(`[[1]].all(a0, ${binds}${source})${")".repeat(24)}`), fault, source);
    }
  });

  it("has no functions that Kubernetes does not have", () => {
    for (const name of ["json()", "hex()", "base64()", "at(0)", "string()"]) {
      assert.throws(() => run(`bytes('{}').${name}`), /found no matching overload for 'bytes\.\w+\(/, name);
    }
    assert.throws(() => run("cel.bind(x, 1, x + 1)"), /undeclared reference to 'cel'/);
  });

  it("counts what an error takes, more in a long expression", () => {
    const steps = (source: string): number => {
      const budget = new CostBudget(1_000_000);
      compileExpression(source, { environment }).evaluate({ object: many.slice(0, 100) }, budget);
      return budget.spent;
    };
    for (const fault of ["1 / 0 > 1", "int('x') > 1", "[1][?7].hasValue()", "object[0] > 1"]) {
      const source = `object.all(a, ${fault} || true)`;
      assert.ok(steps(source) > 100 * 100, fault);
      // The library looks through the line for the place of each error.
      assert.ok(steps(`${source} ${" ".repeat(14_000)}`) > 100 * 700, fault);
    }
  });
});

describe("the words of an error", () => {
  for (const [source, words] of [
    ["object.missing == 1", "no such key: missing"],
    ["object.list[2] == 1", "index out of bounds: 2"],
    ["object.list[-1] == 1", "index out of bounds: -1"],
    ["1 / object.zero == 1", "division by zero"],
    ["1 % object.zero == 1", "modulus by zero"],
    ["9223372036854775807 + object.list[0] == 1", "integer overflow"],
  ] as const) {
    it(`are upstream's: ${words}`, () => {
      assert.throws(
        () => run(source, { list: [1n, 2n], zero: 0n }),
        (error) => summaryOf(error) === words,
      );
    });
  }

  it("are cut, and not in the middle of a letter, when they quote a long value", () => {
    for (const start of ["", "x"]) {
      assert.throws(
        () => run("object.map[object.key] == 1", { map: {}, key: start + "\u{1f600}".repeat(1000) }),
        (error) => summaryOf(error).length <= 1024 && summaryOf(error).isWellFormed(),
      );
    }
  });
});
