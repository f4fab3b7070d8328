import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import {
  fieldMatcher,
  parseFieldSelector,
  printFieldSelector,
  requiredFieldValue,
} from "../../../../src/machinery/api/selectors/field-selector.ts";
import { labelMatcher } from "../../../../src/machinery/api/selectors/label-selector.ts";
import { parseLabelSelector } from "../../../../src/machinery/api/selectors/parse-label-selector.ts";
import type { LabelRequirement, Labels } from "../../../../src/machinery/api/selectors/label-selector.ts";
import { matchesLabels } from "./label-selector-model.ts";

const word = fc.stringMatching(/^[a-z]([a-z0-9]{0,4}[a-z0-9])?$/).filter((text) => text !== "in" && text !== "notin");
const value = fc.oneof(word, fc.constant(""), fc.integer({ min: 0, max: 99 }).map(String));
const labels = fc.dictionary(word, value, { maxKeys: 4 });

const requirement = fc.oneof(
  word,
  word.map((key) => `!${key}`),
  fc.tuple(word, fc.constantFrom("=", "==", "!="), value).map((parts) => parts.join("")),
  fc.tuple(word, fc.constantFrom("<", ">"), fc.integer({ min: 0, max: 105 })).map((parts) => parts.join("")),
  fc
    .tuple(word, fc.constantFrom("in", "notin"), fc.array(value, { maxLength: 3 }))
    .map(([key, operator, values]) => `${key} ${operator} (${values.join(", ")})`),
);
const labelSelector = fc.array(requirement, { maxLength: 4 }).map((parts) => parts.join(" , "));

function printRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === "exists") return key;
  if (operator === "doesNotExist") return `!${key}`;
  return operator === "in" || operator === "notin"
    ? `${key} ${operator} (${values.join(",")})`
    : `${key}${operator}${values[0]}`;
}

describe("a label selector", () => {
  it("selects the same after it was parsed and printed", () => {
    fc.assert(
      fc.property(labelSelector, labels, (text, map) => {
        const selector = parseLabelSelector(text);
        const again = parseLabelSelector(selector.map(printRequirement).join(","));
        assert.deepEqual(again, selector);
        assert.equal(labelMatcher(again)(map), labelMatcher(selector)(map));
      }),
    );
  });

  it("has its requirements in the order of their keys, and those of one key as they were written", () => {
    const written = "tier in (b,a),!Zone,allow=true,tier!=c,tier";
    assert.deepEqual(parseLabelSelector(written).map(printRequirement), [
      "!Zone",
      "allow=true",
      "tier in (a,b)",
      "tier!=c",
      "tier",
    ]);
  });

  it("is parsed or refused with a 400, whatever it is", () => {
    const pieces = fc.array(fc.constantFrom("a", "in", "notin", "(", ")", ",", "!", "=", "==", ">", " ", "1"), {
      maxLength: 10,
    });
    fc.assert(
      fc.property(pieces, (parts) => {
        try {
          parseLabelSelector(parts.join(""));
        } catch (error) {
          assert.equal((error as { code?: number }).code, 400);
        }
      }),
    );
  });

  it("selects according to its operators", () => {
    const map = { tier: "back", size: "10", empty: "", in: "x", signed: "+7", huge: "9223372036854775808" };
    const cases: readonly [string, boolean][] = [
      ["", true],
      ["tier", true],
      ["!tier", false],
      ["tier=back", true],
      ["tier=front", false],
      ["other=back", false],
      ["tier!=back", false],
      ["other!=back", true],
      ["tier in (front, back)", true],
      ["tier in (front)", false],
      ["tier notin (front)", true],
      ["tier notin (front, back)", false],
      ["other notin (front)", true],
      ["size>9,size<11", true],
      ["size>10", false],
      ["size<10", false],
      ["tier>1", false],
      ["other<1", false],
      ["signed>6,signed<8", true],
      ["huge>1", false],
      ["empty=", true],
      ["empty in (,x)", true],
      ["empty in ()", true],
      ["in in (x)", true],
      ["notin notin (notin)", true],
      ["toString", false],
      ["!constructor", true],
    ];
    for (const [text, expected] of cases) assert.equal(labelMatcher(parseLabelSelector(text))(map), expected, text);
  });

  it("selects what its requirements mean, one after the other", () => {
    fc.assert(
      fc.property(labelSelector, labels, (text, map) => {
        const selector = parseLabelSelector(text);
        assert.equal(labelMatcher(selector)(map), matchesLabels(selector, map));
      }),
    );
  });

  it("looks at a label once for thousands of requirements of other keys, and of its own values", () => {
    const many = (part: (index: number) => string): string => Array.from({ length: 3000 }, (_, i) => part(i)).join(",");
    const selector = `${many((i) => `!other${i}`)},tier notin (${many(String)})`;
    let looks = 0;
    const observed = new Proxy<Labels>({ tier: "back" }, { get: (target, key: string) => (looks++, target[key]) });
    assert.equal(labelMatcher(parseLabelSelector(selector))(observed), true);
    assert.equal(looks, 1);
  });

  it("has spaces, tabs and ends of lines between its words, and no other white space", () => {
    for (const space of [" ", "\t", "\r", "\n"]) {
      assert.deepEqual(
        parseLabelSelector(`${space}tier${space}in${space}(back${space})`),
        parseLabelSelector("tier in (back)"),
      );
    }
    for (const other of ["\u000b", "\u00a0", "\u2028", "\ufeff"]) {
      for (const text of [`tier${other}`, `tier=back${other}`, `tier in (${other}back)`, `tier${other}=back`]) {
        assert.throws(() => parseLabelSelector(text), { code: 400 }, JSON.stringify(text));
      }
    }
  });

  it("is refused in upstream's words", () => {
    const refusals: readonly [string, string][] = [
      ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
      ["tier in back", "unable to parse requirement: found 'back' expected: '('"],
      ["tier in (back", "unable to parse requirement: found '', expected: ',' or ')'"],
      ["=x", "found '=', expected: !, identifier, or 'end of string'"],
      [",", "found ',', expected: !, identifier, or 'end of string'"],
      ["tier,", "found '', expected: identifier after ','"],
      ["tier!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
      ["tier=back x", "found 'x', expected: ',' or 'end of string'"],
      ["!(", "unable to parse requirement: found '(', expected: identifier"],
      ["tier===a", "unable to parse requirement: found '=', expected: identifier"],
      [
        "size>",
        "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",
      ],
    ];
    for (const [text, message] of refusals) assert.throws(() => parseLabelSelector(text), { message }, text);
  });
});

describe("a field selector", () => {
  const term = fc.record(
    {
      field: fc.stringMatching(/^[a-z]+(\.[a-zA-Z]+)?$/),
      operator: fc.constantFrom("=" as const, "!=" as const),
      value: fc.string({ maxLength: 6 }),
    },
    { noNullPrototype: true },
  );

  it("is the same after it was printed and parsed, whatever its values", () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 3 }), (selector) => {
        const printed = selector.map((one) => ({ one, text: printFieldSelector([one]) }));
        const sorted = printed.sort((a, b) => (a.text < b.text ? -1 : 1)).map(({ one }) => one);
        assert.deepEqual(parseFieldSelector(printFieldSelector(selector)), sorted);
      }),
    );
  });

  it("selects by equality, and takes an absent field as empty", () => {
    const valueOf = (field: string): string => (field === "a" ? "1" : "");
    const matches = (text: string): boolean => fieldMatcher(parseFieldSelector(text))(valueOf);
    assert.deepEqual(["a=1,b=", "a==1,b!=2", "a!=2,a!=3", ""].map(matches), [true, true, true, true]);
    assert.deepEqual(["a!=1", "a=1,a=2", "a=1,a!=1", "b!="].map(matches), [false, false, false, false]);
  });

  it("asks for a field once, however many terms name it", () => {
    const asked: string[] = [];
    const terms = Array.from({ length: 3000 }, (_, index) => `a!=${index}`);
    const matches = fieldMatcher(parseFieldSelector(terms.join(",")));
    assert.equal(
      matches((field) => (asked.push(field), "x")),
      true,
    );
    assert.deepEqual(asked, ["a"]);
  });

  it("ends a field at the first operator, also at one behind a backslash", () => {
    assert.deepEqual(parseFieldSelector(String.raw`a\=1,b!c=2`), [
      { field: "a\\", operator: "=", value: "1" },
      { field: "b!c", operator: "=", value: "2" },
    ]);
  });

  it("requires a value of a field by equality alone, and of several the first", () => {
    const required = (text: string): string | undefined => requiredFieldValue(parseFieldSelector(text), "a");
    assert.deepEqual(["a=1", "a!=0,a=1,a=2,b=3", "a!=1", "b=1"].map(required), ["1", "1", undefined, undefined]);
  });

  it("is refused in upstream's words", () => {
    const message = "invalid selector: 'nonsense'; can't understand 'nonsense'";
    assert.throws(() => parseFieldSelector("nonsense"), { message });
    assert.throws(() => parseFieldSelector("a=b=c"), { message: /unescaped character in value/ });
    assert.throws(() => parseFieldSelector(String.raw`a=\b`), { message: /invalid escape sequence: \\b$/ });
    assert.deepEqual(parseFieldSelector(""), []);
  });
});

test("the answer to a selector with thousands of bad values names some of them", () => {
  const values = Array.from({ length: 12_500 }, (_, index) => `_${index}`).join(",");
  assert.throws(
    () => parseLabelSelector(`x in (${values})`),
    (error) => error instanceof Error && error.message.match(/Invalid value/g)?.length === 20,
  );
});
