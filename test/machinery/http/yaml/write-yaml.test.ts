import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeYaml, yamlParts } from "../../../../src/machinery/http/yaml/write-yaml.ts";

/** Each text with what kube-apiserver 1.36 writes for it. */
const texts: Readonly<Record<string, string>> = {
  "system:a": "system:a",
  'a "b"': 'a "b"',
  ".": ".",
  "...": "'...'",
  "---": "'---'",
  "-": "'-'",
  "- a": "'- a'",
  "-a": "-a",
  "a:": "'a:'",
  "a #b": "'a #b'",
  "a#b": "a#b",
  "'a'": "'''a'''",
  "{}": "'{}'",
  "<<": "<<",
  yes: '"yes"',
  "~": '"~"',
  "": '""',
  "08": '"08"',
  "1_000": '"1_000"',
  ".5_0": '".5_0"',
  ".0_": ".0_",
  "1.2.3": "1.2.3",
  "0xg": "0xg",
  "190:20:30": '"190:20:30"',
  "2026-01-01T00:00:00Z": '"2026-01-01T00:00:00Z"',
  "2026-13-01": "2026-13-01",
  " a": "' a'",
  "a\tb": '"a\\tb"',
  "\u0001": '"\\x01"',
  "😀": '"\\U0001F600"',
  é: "é",
  "a\nb": "|-\n    a\n    b",
  "a\nb\n": "|\n    a\n    b",
  "a\n\n": "|+\n    a\n",
  " a\nb": "|2-\n     a\n    b",
  "a \nb": '"a \\nb"',
};

describe("written YAML", () => {
  it("quotes texts only where upstream does", () => {
    for (const [text, written] of Object.entries(texts)) {
      assert.equal(writeYaml({ x: { v: text } }), `x:\n  v: ${written}\n`);
    }
  });

  it("sorts keys, does not indent lists, and omits undefined members", () => {
    const value = {
      f: { "f:a": {}, ".": {} },
      b10: [{ z: 1, a: [] }, [true, [null]]],
      b9: undefined,
      b1: 1.5,
      _: "y",
    };
    assert.equal(
      writeYaml(value),
      '_: "y"\nb1: 1.5\nb10:\n- a: []\n  z: 1\n- - true\n  - - null\nf:\n  .: {}\n  f:a: {}\n',
    );
  });

  it("breaks long texts at a space, and writes keys that are long or have line breaks behind a question mark", () => {
    const long = Array.from({ length: 20 }, () => "word").join(" ");
    assert.equal(writeYaml({ v: long }), `v: ${long.slice(0, 79)}\n  ${long.slice(80)}\n`);
    const key = "k".repeat(129);
    assert.equal(writeYaml({ [key]: { a: 1, b: 2 } }), `? ${key}\n: a: 1\n  b: 2\n`);
    assert.equal(writeYaml({ x: { "a\nb": { c: 1 } } }), "x:\n  ? |-\n    a\n    b\n  : c: 1\n");
  });

  it("sorts keys by their characters, also those that are two UTF-16 units", () => {
    const [digit, letter] = ["\u{1d7ff}", "\u{1d400}"]; // a digit, and a letter: they begin with the same unit
    assert.equal(writeYaml({ [letter]: 1, [digit]: 2 }), '"\\U0001D7FF": 2\n"\\U0001D400": 1\n');
  });

  it("has its members in one order, whatever members without a value are beside them", () => {
    // Upstream's order has circles: 9 comes before 19, 19 before 1b, and 1b before 9.
    const written = { "1b": 1, "9": 2 };
    const object = { "19": undefined, ...written };
    assert.equal(writeYaml(object), writeYaml(written));
  });

  it("sorts thousands of keys as it sorts a few", () => {
    const keys = Array.from({ length: 3000 }, (_, index) => `k${index}`);
    const shuffled = keys.toSorted((left, right) => (left.at(-1) ?? "").localeCompare(right.at(-1) ?? ""));
    const written = writeYaml(Object.fromEntries(shuffled.map((key) => [key, 1])));
    assert.equal(written, keys.map((key) => `${key}: 1\n`).join(""));
  });

  it("is made in parts of a few lines, however long an object or a list is", () => {
    const numbers = Array.from({ length: 3000 }, (_, index) => index);
    const value = { list: numbers, members: Object.fromEntries(numbers.map((number) => [`k${number}`, [number]])) };
    for (const part of yamlParts(value)) assert.ok(part.split("\n").length <= 3, part);
  });

  it("asks for the items of a list one by one", () => {
    let made = 0;
    function* items(): Generator {
      for (; made < 3; made += 1) yield { made };
    }
    const parts = yamlParts({ items: { length: 3, [Symbol.iterator]: items } });
    assert.deepEqual([parts.next().value, made], ["items:\n", 0]);
    assert.deepEqual([parts.next().value, made], ["- made: 0\n", 0]);
    assert.equal([...parts].join(""), "- made: 1\n- made: 2\n");
  });
});
