import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { writeYaml, yamlParts } from "../../../src/machinery/http/write-yaml.ts";

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

  it("breaks long texts at a space, and writes long keys behind a question mark", () => {
    const long = Array.from({ length: 20 }, () => "word").join(" ");
    assert.equal(writeYaml({ v: long }), `v: ${long.slice(0, 79)}\n  ${long.slice(80)}\n`);
    const key = "k".repeat(129);
    assert.equal(writeYaml({ [key]: { a: 1, b: 2 } }), `? ${key}\n: a: 1\n  b: 2\n`);
  });

  it("has its members in one order, whatever members without a value are beside them", () => {
    // Upstream's order has circles: 9 comes before 19, 19 before 1b, and 1b before 9.
    const written = { "1b": 1, "9": 2 };
    const object = { "19": undefined, ...written };
    assert.equal(writeYaml(object), writeYaml(written));
    assert.equal([...yamlParts(object)].join(""), writeYaml(written));
  });

  it("is the same whether it is written in parts or at once", () => {
    const unusual = fc.constantFrom(
      "",
      "\n",
      "a\nb\n",
      " a",
      "---\nb",
      "yes",
      "k: v",
      "- ",
      "__proto__",
      "\u2028",
      "x".repeat(1100),
    );
    const { tree: value } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.constantFrom(null, undefined, true, -1.5, 1e30),
        fc.string(),
        unusual,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.string(), unusual), tie("tree"), { maxKeys: 3 }),
      ),
    }));
    const list = fc.record({
      kind: fc.string(),
      items: fc.array(value, { maxLength: 4 }),
      metadata: value,
      members: fc.dictionary(fc.string({ maxLength: 20 }), value),
    });
    fc.assert(
      fc.property(list, ({ members, ...other }) => {
        const object = { ...other, ...members };
        assert.equal([...yamlParts(object)].join(""), writeYaml(object));
      }),
      { numRuns: 1000 },
    );
  });
});
