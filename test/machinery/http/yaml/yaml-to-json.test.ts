import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Document, Lexer, Scalar } from "yaml";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { writeYaml } from "../../../../src/machinery/http/yaml/write-yaml.ts";
import { YamlFault, yamlToJson, yamlToJsonInTurns } from "../../../../src/machinery/http/yaml/yaml-to-json.ts";
import { parseExactly } from "../../../../src/machinery/schema/parse-json.ts";
import { turnsDuringRequest } from "../../scheduling/turns-during-request.ts";

const refuses = (text: string, expected: 413 | RegExp = /^yaml: /): void =>
  assert.throws(
    () => yamlToJson(text),
    (error) =>
      expected === 413
        ? error instanceof ApiError && error.code === expected
        : error instanceof YamlFault && expected.test(error.message),
    text.slice(0, 40),
  );

describe("YAML", () => {
  it("is read with YAML 1.1's booleans and numbers, and dates as text", () => {
    const text = "b: yes\nm: [1, 0x10, ~, 1.5]\nt: 2026-01-01T00:00:00Z\nc: 12:30:45\n";
    assert.equal(yamlToJson(text), '{"b":true,\n"m":[1,16,null,1.5],\n"t":"2026-01-01T00:00:00Z",\n"c":"12:30:45"}');
  });

  it("ends a block of text with a line feed only where it is written", () => {
    for (const [text, value] of [
      ["|\n a", "a"],
      ["|\n a\n", "a\n"],
      ["|\n a\n ", "a\n"],
      ["|\n a\n  b", "a\n b"],
      ["|+\n a", "a"],
      ["|+\n a\n\n", "a\n\n"],
      ["|-\n a", "a"],
      [">\n a\n b", "a b"],
      ["|\n a\n# the end", "a\n"],
      ["!!binary |\n aGkK", "hi\n"],
    ] as const) {
      assert.equal(yamlToJson(`k: ${text}`), JSON.stringify({ k: value }), text);
    }
    assert.equal(yamlToJson("k: |\n a\nm: |\n b"), '{"k":"a\\n",\n\n"m":"b"}');
  });

  it("has the integers that Go reads, whatever their size", () => {
    const read = (text: string): string => yamlToJson(`- ${text}`);
    for (const [text, value] of [
      ["0o17", "[15]"],
      ["0O17", "[15]"],
      ["-017", "[-15]"],
      ["0X1f", "[31]"],
      ["+0B1_1", "[3]"],
      ["1_000", "[1000]"],
      ["08", "[8]"],
      ["-0", "[0]"],
      ["9223372036854775807", "[9223372036854775807]"],
      ["18446744073709551616", "[18446744073709552000]"],
      ["0o8", '["0o8"]'],
      ["0x_", '["0x_"]'],
      [`0x1${"0".repeat(16)}`, `["0x1${"0".repeat(16)}"]`],
      [`0x${"0".repeat(100)}1`, `["0x${"0".repeat(100)}1"]`],
      ["1e400", '["1e400"]'],
    ] as const) {
      assert.equal(read(text), value, text);
    }
    assert.equal(
      yamlToJson("9223372036854775807: a\n0o7: b\n1e400: c\n"),
      '{"9223372036854775807":"a",\n"7":"b",\n"1e400":"c"}',
    );
    assert.equal(yamlToJson("18446744073709551616: a\n"), '{"1.8446744e+19":"a"}');
    refuses("9223372036854775808: a\n", /64 bits/);
  });

  it("reads a text with a written type as that type, quoted or not, and refuses one that is of another", () => {
    assert.equal(
      yamlToJson(`[!!int "0x10", !!float 6, !!float .5, !!bool "yes", !!null ~, !!str 6]`),
      `[16,6,0.5,true,null,"6"]`,
    );
    assert.equal(yamlToJson("a: !!null\n!!int 0x10: b\n"), `{"a":null,\n"16":"b"}`);
    refuses("a: !!int 6.5", /^yaml: line 1: cannot decode !!float `6.5` as a !!int$/);
    refuses("a: !!float seven", /^yaml: line 1: cannot decode !!str `seven` as a !!float$/);
    refuses("a: !!bool 1", /^yaml: line 1: cannot decode !!int `1` as a !!bool$/);
    refuses("a: !!null false", /^yaml: line 1: cannot decode !!bool `false` as a !!null$/);
    refuses("a: !!int", /^yaml: line 1: cannot decode !!null `` as a !!int$/);
    refuses("!!int b: a", /^yaml: line 1: cannot decode !!str `b` as a !!int$/);
  });

  it("takes what is too large for a written type for what it becomes without it", () => {
    assert.equal(yamlToJson("[!!int 18446744073709551615, !!float 1e308]"), "[18446744073709551615,1e+308]");
    refuses("a: !!int 18446744073709551616", /cannot decode !!float `18446744073709551616` as a !!int$/);
    refuses("a: !!int 0x1ffffffffffffffff", /cannot decode !!str `0x1ffffffffffffffff` as a !!int$/);
    refuses("a: !!float 1e400", /cannot decode !!str `1e400` as a !!float$/);
  });

  it("keeps the text of what is marked as a time, and refuses what is none", () => {
    for (const time of [
      "2026-11-28",
      "2026-1-2",
      "2026-11-28T08:15:00Z",
      "2026-11-28t8:15:0.5+01:00",
      "2026-11-28 08:15:00",
    ]) {
      assert.equal(yamlToJson(`a: !!timestamp ${time}`), `{"a":"${time}"}`);
    }
    refuses("a: !!timestamp abc", /cannot decode !!str `abc` as a !!timestamp$/);
    refuses("a: !!timestamp 2026-13-01", /cannot decode !!str `2026-13-01` as a !!timestamp$/);
    refuses("a: !!timestamp 2026", /cannot decode !!int `2026` as a !!timestamp$/);
  });

  it("decodes what is marked as binary, and refuses what cannot be", () => {
    assert.equal(yamlToJson("a: !!binary |\n  aGVs\n  bG8=\n"), '{"a":"hello"}');
    assert.equal(yamlToJson("!!binary YQ==: b\n"), '{"a":"b"}');
    assert.equal(yamlToJson("!!binary /w=="), '"\ufffd"');
    for (const base64 of ["!!", "YQ=", "Y=Q="])
      refuses(`a: !!binary ${JSON.stringify(base64)}`, /invalid base64 data$/);
  });

  it("has no control characters, and no numbers that JSON has not", () => {
    for (const character of ["\0", "\b", "\v", "\u007f", "\u009f", "\ufffe"]) {
      refuses(`a: ${character}`, /^yaml: control characters are not allowed$/);
    }
    refuses('{"a":"\u007f"}', /^yaml: control characters are not allowed$/);
    assert.equal(yamlToJson("a: \u00e9\u{1f600}"), '{"a":"\u00e9\u{1f600}"}');
    for (const [text, name] of Object.entries({ ".inf": "+Inf", "-.INF": "-Inf", ".NaN": "NaN" })) {
      assert.throws(() => yamlToJson(`a: ${text}`), new YamlFault(`json: unsupported value: ${name}`));
    }
  });

  it("takes a carriage return and a next-line character for line breaks", () => {
    for (const lineBreak of ["\n", "\r\n", "\r", "\u0085"]) {
      assert.equal(yamlToJson(`${lineBreak}a: 1${lineBreak}b: "x${lineBreak}  y"`), '{\n"a":1,\n"b":"x y"}', lineBreak);
    }
    assert.equal(yamlToJson('{"a":"x\u0085y"}'), '{"a":"x y"}');
  });

  it("keeps repeated and hostile keys, so that the JSON decoder judges them", () => {
    assert.equal(yamlToJson("a: 1\na: 2\n__proto__: x\n"), '{"a":null,\n"a":2,\n"__proto__":"x"}');
  });

  it("puts each key on the line where its value begins", () => {
    assert.equal(yamlToJson("# a comment\n\na:\n  - b: 1\n    c: |\n      x\n      y\nd: 2\n").split("\n").length, 8);
    assert.equal(yamlToJson("a:\n  b:\n    c: 1\n"), '{\n"a":{\n"b":{"c":1}}}');
  });

  it("reads non-string keys like upstream's converter", () => {
    const keys = ["y", "no", "1.0", "1.5", "0x10", "1000000.0", "123456789.5", "-0.00001", ".inf", '"n"'];
    const text = keys.map((key) => `${key}: 0`).join("\n");
    const names = ["true", "false", "1", "1.5", "16", "1e+06", "1.2345679e+08", "-1e-05", ".inf", "n"];
    assert.deepEqual(Object.keys(JSON.parse(yamlToJson(text))), [
      "1",
      "16",
      ...names.filter((name) => !/^1?[16]$/.test(name)),
    ]);
    assert.equal(yamlToJson("0.0: a\n-0.0: b\n"), '{"0":"a",\n"-0":"b"}');
    for (const key of ["~", "[a]", "{a: b}"]) refuses(`? ${key}\n: 0\n`);
  });

  it("merges maps at <<, and later keys override", () => {
    const read = (text: string): unknown => JSON.parse(yamlToJson(text));
    const base = "base: &base {a: 1, b: {c: 2}}\n";
    assert.deepEqual(read(`${base}x:\n  <<: *base\n  b: {d: 3}\n`), {
      base: { a: 1, b: { c: 2 } },
      x: { a: 1, b: { d: 3 } },
    });
    assert.deepEqual(read("<<: [{a: 1}, {a: 2, e: 3}]\n"), { a: 1, e: 3 });
    assert.deepEqual(read('"<<": 1\n'), { "<<": 1 });
    refuses("<<: 1\n");
    refuses("x: &x {<<: *x}\n");
  });

  it("refuses an alias of an undefined anchor", () => refuses("a: *nothing\n"));

  it("passes JSON through unchanged", () => {
    assert.equal(yamlToJson('{"a": 1,  "a": 2}'), '{"a": 1,  "a": 2}');
  });

  it("reads the numbers of JSON that have a fraction or an exponent as upstream does, also in JSON that is too long for YAML", () => {
    assert.equal(yamlToJson('{"a":15.0,"b":[-1e3, 1.5]}'), '{"a":15,"b":[-1000, 1.5]}');
    assert.equal(
      yamlToJson('{"a":1E+2,"b":1e400,"c":12345678901234567890}'),
      '{"a":100,"b":"1e400","c":12345678901234567890}',
    );
    for (const long of ["x".repeat(256 * 1024), Array.from({ length: 11_000 }, (_, index) => index)]) {
      const json = JSON.stringify({ long });
      assert.equal(yamlToJson(`{"a":15.0,${json.slice(1)}`), `{"a":15,${json.slice(1)}`);
    }
  });

  it("finds no numbers in the strings of JSON", () => {
    const text = String.raw`{"image":"a:1.25","quoted":"\":1.0","slash\\":"[2.0","b":1.5}`;
    assert.equal(yamlToJson(text), text);
  });

  it("takes only texts with digits for numbers, as upstream does", () => {
    const read = (text: string): unknown => JSON.parse(yamlToJson(`- ${text}`));
    for (const text of [".", "e0", "-e5", "._1", ".0_", ".5__0", ".1_e5", "12e"]) assert.deepEqual(read(text), [text]);
    for (const [text, value] of [
      [".5", 0.5],
      [".5_0", 0.5],
      ["-.5_", -0.5],
      ["1.", 1],
      ["-1.5e3", -1500],
      ["1_0.5", 10.5],
    ] as const)
      assert.deepEqual(read(text), [value]);
  });

  it("survives a round trip of any JSON value without the key <<, which upstream writes plain and reads as a merge", () => {
    const hasMergeKey = (value: unknown): boolean => JSON.stringify(value).includes('"<<":');
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 3 }).filter((value) => !hasMergeKey(value)),
        (value) => {
          const plain = parseExactly(JSON.stringify(value));
          assert.deepEqual(parseExactly(yamlToJson(writeYaml(plain))), plain);
        },
      ),
      { numRuns: 300, examples: [[{ ".0_": ".0_", ".5_0": ".5_0" }]] },
    );
  });

  it("is read to the texts that were written, however long their lines are and whatever is at their breaks", () => {
    const pieces = ["word", "longer-word", " ", "  ", "'", '"', "\\", ":", "#", "- ", "\t", "\n", "é", "\u{1f600}"];
    const text = (most: readonly string[]): fc.Arbitrary<string> =>
      fc.array(fc.constantFrom(...most), { maxLength: 100, size: "max" }).map((some) => some.join(""));
    fc.assert(
      fc.property(fc.oneof(text(pieces), text(["word", " ", "'"])), (written) => {
        const value = { x: { [written]: [written, { a: written }] } };
        assert.deepEqual(parseExactly(yamlToJson(writeYaml(value))), value);
      }),
      { numRuns: 1000 },
    );
  });

  it("bounds aliases, cycles, depth and size", () => {
    const levels = "abcdefgh".split("").map((name, level, all) => {
      const item = level === 0 ? "x" : `*${all[level - 1]}`;
      return `${name}: &${name} [${Array.from({ length: 9 }, () => item).join(",")}]`;
    });
    refuses(levels.join("\n"));
    refuses("&a [*a]");
    refuses("[".repeat(100_000));
    refuses(Array.from({ length: 600 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"));
    refuses(`a: ${"x".repeat(300_000)}`, 413);
    refuses(`[${"1,".repeat(25_000)}1]`, 413);
  });

  it("bounds each of them where the others are small", () => {
    const fault = (text: string): string => {
      try {
        return typeof yamlToJson(text);
      } catch (error) {
        return error instanceof YamlFault ? error.message : String(error);
      }
    };
    const aliases = (count: number): string => `a: &x 1\nb: [${Array.from({ length: count }, () => "*x").join()}]`;
    assert.equal(fault(aliases(100)), "string");
    assert.match(fault(aliases(101)), /too many aliases$/);
    const expanded = (count: number): string => aliases(count).replace("1", `"${"x".repeat(100_000)}"`);
    assert.equal(fault(expanded(30)), "string");
    assert.match(fault(expanded(32)), /too large when expanded$/);
    const values = (count: number): string => aliases(count).replace("1", `[${"1,".repeat(8000)}]`);
    assert.equal(fault(values(2)), "string");
    refuses(values(3), 413);
    const repeated = (count: number): string => aliases(count).replace("1", `{${"a,".repeat(8000)}}`);
    assert.equal(fault(repeated(2)), "string");
    refuses(repeated(3), 413);
    assert.equal(fault(`${"- ".repeat(256)}x`), "string");
    assert.match(fault(`${"- ".repeat(257)}x`), /nested too deeply$/);
    const merged = (count: number): string => `${"<<: {".repeat(count).replace("{", "\n  {")}a: 1${"}".repeat(count)}`;
    assert.equal(fault(merged(256)), "string");
    assert.match(fault(merged(257)), /nested too deeply$/);
  });

  it("refuses JSON that is nested too deeply before it parses it: that takes long", (t) => {
    const parse = t.mock.method(JSON, "parse");
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    refuses(nested(1001));
    assert.equal(parse.mock.callCount(), 0);
    assert.equal(yamlToJson(nested(1000)), nested(1000));
    assert.equal(parse.mock.callCount(), 1);
  });

  it("with more than a thousand open brackets is refused before it is parsed, which takes time with the square of them", (t) => {
    const lex = t.mock.method(Lexer.prototype, "lex");
    const nested = (depth: number): string => `a: ${"[{".repeat(depth / 2)}`;
    refuses(nested(1026), /nested too deeply$/);
    assert.equal(lex.mock.callCount(), 0);
    refuses(nested(1024));
    assert.equal(lex.mock.callCount(), 1);
  });

  it("says of nesting for which the call stack has no room that it is too deep", () => {
    const text = `{"a":${"[".repeat(900)}${"]".repeat(900)} b`;
    const inFrames = (count: number): string => (count === 0 ? yamlToJson(text) : inFrames(count - 1));
    const messages = new Set<string>();
    for (let frames = 0; frames < 15_000; frames += 250) {
      try {
        inFrames(frames);
      } catch (error) {
        if (error instanceof YamlFault) messages.add(error.message);
      }
    }
    assert.ok(messages.delete("yaml: nested too deeply"));
    assert.doesNotMatch([...messages].join(), /call stack/);
  });

  it("bounds quotes, escapes, anchors, aliases, tags and directives, each of which is slow to parse", () => {
    for (const text of [
      '"'.repeat(41_000),
      "'a' ".repeat(21_000),
      "&a ".repeat(21_000),
      "*a ".repeat(21_000),
      "!a ".repeat(21_000),
      `"${"\\x".repeat(41_000)}`,
      "%a\n".repeat(2501),
    ]) {
      assert.throws(
        () => yamlToJson(text),
        (error) => error instanceof ApiError && error.code === 413,
        text.slice(0, 10),
      );
    }
    const manifest = `data:\n${Array.from({ length: 2000 }, (_, index) => `  "key-${index}": "value ${index}"\n`).join("")}`;
    assert.equal(Object.keys(JSON.parse(yamlToJson(manifest)).data as object).length, 2000);
  });

  it("looks for the anchors of all aliases once", () => {
    let reads = 0;
    // What the library asks each node for.
    Object.defineProperty(Scalar.prototype, "anchor", {
      configurable: true,
      get: () => void (reads += 1),
      set(this: object, value: unknown) {
        Object.defineProperty(this, "anchor", { value, writable: true });
      },
    });
    try {
      const keys = Array.from({ length: 100 }, (_, index) => `  k${index}: *x\n`);
      const read = JSON.parse(yamlToJson(`a: &x text\ndata:\n${keys.join("")}`)) as { readonly data: object };
      assert.deepEqual(new Set(Object.values(read.data)), new Set(["text"]));
      assert.ok(reads < 500, `${reads}`);
    } finally {
      Reflect.deleteProperty(Scalar.prototype, "anchor");
    }
  });

  it("takes the last anchor of a name before an alias", () => {
    assert.deepEqual(JSON.parse(yamlToJson("a: &x 1\nb: *x\nc: &x 2\nd: *x\n")), { a: 1, b: 1, c: 2, d: 2 });
  });

  it("reads no documents after the first, of which there may be thousands", () => {
    let read = 0;
    // What the library sets at the end of each document.
    Object.defineProperty(Document.prototype, "range", {
      configurable: true,
      set(this: object, value: unknown) {
        read += 1;
        Object.defineProperty(this, "range", { value, writable: true });
      },
    });
    try {
      assert.equal(yamlToJson("---\n".repeat(9000)), "null");
      assert.equal(yamlToJson(`a: 1\n${"--- b\n".repeat(4000)}`), '{"a":1}');
      assert.ok(read < 20, `${read}`);
    } finally {
      Reflect.deleteProperty(Document.prototype, "range");
    }
  });

  it("lets others come in between while a request is read that has its turn", async (t) => {
    const text = Array.from({ length: 50 }, (_, index) => `key${index}: value\n`).join("");
    const { result: json, turns } = await turnsDuringRequest(t, () => yamlToJsonInTurns(text));
    assert.ok(turns > 50, `${turns} turns`);
    assert.equal(json, yamlToJson(text));
  });

  it("names the fault of malformed text", () => {
    for (const text of ["a: [1", "[1", "[[1]", '{"a": 1', "a: 1\n]\n", "a: [1\n---\n", "a: {b\n...\n"]) refuses(text);
  });

  it("is read as far as its first document goes, whatever follows", () => {
    for (const rest of [" trailing", "{}", "\n[bad", "\n---\n: [", "\n...\n]["])
      assert.equal(yamlToJson(`{"a": [1]}${rest}`), '{"a":[1]}');
    for (const rest of ["---\n: [", "...\n][", "--- x\n", "...\ntext\n"])
      assert.equal(yamlToJson(`a: [1]\n${rest}`), '{"a":[1]}');
  });
});
