import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import {
  applyJsonPatch,
  parseJsonPatch,
  unknownOperationFields,
} from "../../../../src/machinery/registry/patch/json-patch.ts";
import { turnsDuringRequest } from "../../scheduling/turns-during-request.ts";

const patched = async (document: unknown, patch: unknown): Promise<unknown> =>
  applyJsonPatch(document, parseJsonPatch(patch));

const failsWith = (code: number, message?: string) => (error: unknown) =>
  error instanceof ApiError && error.code === code && (message === undefined || error.message === message);

const failed = failsWith(422, "the server rejected our request due to an error in our request");

/** RFC 6902 appendix A: title, document, patch, result (undefined: the patch is refused). */
const appendixA: readonly (readonly [string, unknown, unknown, unknown])[] = [
  [
    "A.1 adds an object member",
    { foo: "bar" },
    [{ op: "add", path: "/baz", value: "qux" }],
    { baz: "qux", foo: "bar" },
  ],
  [
    "A.2 adds an array element",
    { foo: ["bar", "baz"] },
    [{ op: "add", path: "/foo/1", value: "qux" }],
    { foo: ["bar", "qux", "baz"] },
  ],
  ["A.3 removes an object member", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
  [
    "A.4 removes an array element",
    { foo: ["bar", "qux", "baz"] },
    [{ op: "remove", path: "/foo/1" }],
    { foo: ["bar", "baz"] },
  ],
  [
    "A.5 replaces a value",
    { baz: "qux", foo: "bar" },
    [{ op: "replace", path: "/baz", value: "boo" }],
    { baz: "boo", foo: "bar" },
  ],
  [
    "A.6 moves a value",
    { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
    [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
    { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
  ],
  [
    "A.7 moves an array element",
    { foo: ["all", "grass", "cows", "eat"] },
    [{ op: "move", from: "/foo/1", path: "/foo/3" }],
    { foo: ["all", "cows", "eat", "grass"] },
  ],
  [
    "A.8 tests a value: success",
    { baz: "qux", foo: ["a", 2, "c"] },
    [
      { op: "test", path: "/baz", value: "qux" },
      { op: "test", path: "/foo/1", value: 2 },
    ],
    { baz: "qux", foo: ["a", 2, "c"] },
  ],
  ["A.9 tests a value: error", { baz: "qux" }, [{ op: "test", path: "/baz", value: "bar" }], undefined],
  [
    "A.10 adds a nested member object",
    { foo: "bar" },
    [{ op: "add", path: "/child", value: { grandchild: {} } }],
    { foo: "bar", child: { grandchild: {} } },
  ],
  [
    "A.11 ignores unrecognized elements",
    { foo: "bar" },
    [{ op: "add", path: "/baz", value: "qux", xyz: 123 }],
    { foo: "bar", baz: "qux" },
  ],
  ["A.12 adds to a nonexistent target", { foo: "bar" }, [{ op: "add", path: "/baz/bat", value: "qux" }], undefined],
  ["A.14 orders ~ escapes", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
  ["A.15 compares strings and numbers", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: "10" }], undefined],
  [
    "A.16 adds an array value",
    { foo: ["bar"] },
    [{ op: "add", path: "/foo/-", value: ["abc", "def"] }],
    { foo: ["bar", ["abc", "def"]] },
  ],
];

describe("a JSON patch", () => {
  for (const [title, document, patch, expected] of appendixA) {
    it(`does what RFC 6902 says: ${title}`, async () => {
      if (expected === undefined) await assert.rejects(patched(document, patch), failed);
      else assert.deepEqual(await patched(document, patch), expected);
    });
  }

  const refused: readonly (readonly [string, unknown])[] = [
    ["an operation that is not known", { op: "bogus", path: "/a" }],
    ["no operation", { path: "/a" }],
    ["no path", { op: "remove" }],
    ["a path without a slash", { op: "add", path: "a", value: 1 }],
    ["a negative index before the first entry", { op: "remove", path: "/list/-3" }],
    ["adding before the first place", { op: "add", path: "/list/-4", value: 1 }],
    ["an index that is no integer", { op: "remove", path: "/list/1.0" }],
    ["an index with two signs", { op: "remove", path: "/list/+-1" }],
    ["an index of many digits", { op: "remove", path: `/list/${"9".repeat(400)}` }],
    ["an index past the end", { op: "add", path: "/list/9", value: 1 }],
    ["removing past the end", { op: "remove", path: "/list/-" }],
    ["removing the entry after the last", { op: "remove", path: "/list/2" }],
    ["replacing the entry after the last", { op: "replace", path: "/list/2", value: 3 }],
    ["removing what is not there", { op: "remove", path: "/none" }],
    ["a test of a list against its beginning", { op: "test", path: "/list", value: [1] }],
    ["a test of a list against a longer one", { op: "test", path: "/list", value: [1, 2, 3] }],
    ["a path through a scalar", { op: "add", path: "/a/b", value: 1 }],
    ["removing the whole document", { op: "remove", path: "" }],
    ["replacing the whole document by a scalar", { op: "replace", path: "", value: 1 }],
    ["copying the whole document into itself", { op: "copy", from: "", path: "/b" }],
    ["a path through a prototype", { op: "add", path: "/__proto__/polluted", value: 1 }],
    ["a path through a constructor", { op: "add", path: "/constructor/prototype/polluted", value: 1 }],
    ["a path that is longer than any name", { op: "add", path: `/${"a".repeat(64 * 1024)}`, value: 1 }],
    ["an absurdly deep path", { op: "add", path: "/a".repeat(5000), value: 1 }],
  ];
  for (const [title, operation] of refused) {
    it(`is refused for ${title}`, async () => {
      await assert.rejects(patched({ a: 1, list: [1, 2] }, [operation]), failed);
      assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
    });
  }

  it("reads an index as Go reads an integer, as upstream does", async () => {
    for (const index of ["1", "01", "+1", "-1", "-001"]) {
      const operations = [
        { op: "test", path: `/list/${index}`, value: 2 },
        { op: "remove", path: `/list/${index}` },
      ];
      assert.deepEqual(await patched({ list: [1, 2] }, operations), { list: [1] }, index);
    }
    assert.deepEqual(await patched({ list: [1, 2] }, [{ op: "remove", path: "/list/-0" }]), { list: [2] });
  });

  it("ignores what comes before the first slash of a path, as upstream does", async () => {
    assert.deepEqual(await patched({ a: 1 }, [{ op: "add", path: "x/b", value: 2 }]), { a: 1, b: 2 });
  });

  it("counts negative indices from the end, as upstream does", async () => {
    const list = [1, 2, 3];
    const after = (...operations: readonly object[]): Promise<unknown> => patched({ list }, operations);
    assert.deepEqual(await after({ op: "remove", path: "/list/-1" }), { list: [1, 2] });
    assert.deepEqual(await after({ op: "replace", path: "/list/-3", value: 9 }), { list: [9, 2, 3] });
    assert.deepEqual(await after({ op: "add", path: "/list/-1", value: 9 }), { list: [1, 2, 3, 9] });
    assert.deepEqual(await after({ op: "add", path: "/list/-4", value: 9 }), { list: [9, 1, 2, 3] });
    assert.deepEqual(await after({ op: "test", path: "/list/-2", value: 2 }), { list });
    assert.deepEqual(await after({ op: "move", from: "/list/-1", path: "/list/0" }), { list: [3, 1, 2] });
    assert.deepEqual(await after({ op: "copy", from: "/list/-1", path: "/last" }), { list, last: 3 });
    const nested = await patched({ list: [{ a: 1 }, { a: 2 }] }, [{ op: "replace", path: "/list/-1/a", value: 3 }]);
    assert.deepEqual(nested, { list: [{ a: 1 }, { a: 3 }] });
  });

  it("adds a missing member on replace, as upstream does", async () => {
    assert.deepEqual(await patched({}, [{ op: "replace", path: "/a", value: 1 }]), { a: 1 });
  });

  it("replaces the whole document by an object, but not by null", async () => {
    assert.deepEqual(await patched({ a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }]), { b: 2 });
    await assert.rejects(patched({ a: 1 }, [{ op: "replace", path: "", value: null }]), failed);
  });

  it("takes a member that is not there for null in a test and a copy, as upstream does", async () => {
    const operations = [
      { op: "test", path: "/none", value: null },
      { op: "copy", from: "/none", path: "/copy" },
    ];
    assert.deepEqual(await patched({}, operations), { copy: null });
    await assert.rejects(patched({}, [{ op: "test", path: "/none/none", value: null }]), failed);
  });

  it("sorts the members of what it changes, as upstream does", async () => {
    const document = { z: { b: 1, a: 2 }, list: [{ d: 1, c: 2 }], kept: { y: 1, x: 2 } };
    const patch = [
      { op: "add", path: "/z/0", value: { f: 1, e: 2 } },
      { op: "remove", path: "/list/0/c" },
      { op: "add", path: "/list/0/b", value: 3 },
    ];
    assert.equal(
      JSON.stringify(await patched(document, patch)),
      '{"kept":{"y":1,"x":2},"list":[{"b":3,"d":1}],"z":{"0":{"f":1,"e":2},"a":2,"b":1}}',
    );
  });

  it("keeps a member named __proto__ a plain member", async () => {
    const result = (await patched({}, [{ op: "add", path: "/__proto__", value: { a: 1 } }])) as object;
    assert.deepEqual(Object.keys(result), ["__proto__"]);
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
  });

  it("keeps a copy independent of its source", async () => {
    const patch = [
      { op: "copy", from: "/a", path: "/b" },
      { op: "add", path: "/a/x", value: 1 },
    ];
    assert.deepEqual(await patched({ a: {} }, patch), { a: { x: 1 }, b: {} });
  });

  it("accepts null as no operations and refuses other bodies with the decoder's message", async () => {
    const document = { a: 1 };
    assert.equal(await patched(document, null), document);
    const target = "Go value of type []handlers.jsonPatchOp";
    assert.throws(
      () => parseJsonPatch({}),
      failsWith(400, `error decoding patch: json: cannot unmarshal object into ${target}`),
    );
    assert.throws(
      () => parseJsonPatch([1]),
      failsWith(400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
    );
    assert.throws(() => parseJsonPatch([{ op: "add", path: 5 }]), failsWith(400));
  });

  it("names the fields of operations that strict validation does not know", async () => {
    const unknown = unknownOperationFields([{ op: "test" }, { extra: 2 }]);
    assert.deepEqual(unknown, [{ path: "[1].extra", position: 0 }]);
  });

  it("may have 10,000 operations and no more", async () => {
    const tests = (count: number): object[] =>
      Array.from({ length: count }, () => ({ op: "test", path: "/a", value: 1 }));
    assert.deepEqual(await patched({ a: 1 }, tests(10_000)), { a: 1 });
    assert.throws(() => parseJsonPatch(tests(10_001)), failsWith(413));
  });

  it("cannot multiply a document by copying", async () => {
    const bomb = Array.from({ length: 40 }, (_, index) => ({ op: "copy", from: "/a", path: `/a/${index}` }));
    await assert.rejects(patched({ a: { x: "x".repeat(1000) } }, bomb), failed);
  });

  it("cannot copy more values than an object may have, nor make an object of more", async () => {
    const list = Array.from({ length: 10_000 }, () => 0);
    const copies = (count: number): unknown => [
      ...Array.from({ length: count }, () => ({ op: "copy", from: "/a", path: "/b" })),
      { op: "remove", path: "/b" },
    ];
    assert.deepEqual(await patched({ a: list }, copies(2)), { a: list });
    await assert.rejects(patched({ a: list }, copies(3)), failsWith(413));
    const added = ["b", "c"].map((key) => ({ op: "add", path: `/${key}`, value: list }));
    assert.deepEqual(await patched({ a: list }, added.slice(1)), { a: list, c: list });
    await assert.rejects(patched({ a: list }, added), failsWith(413));
  });

  it("cannot move more than twenty million entries of lists, at whose ends it moves none", async () => {
    const list = Array.from({ length: 10_000 }, () => 0);
    const times = (count: number, operation: object): object[] => Array.from({ length: count }, () => operation);
    for (const operation of [
      { op: "remove", path: "/list/0" },
      { op: "add", path: "/list/0", value: 0 },
    ]) {
      await patched({ list }, times(1000, operation));
      await assert.rejects(patched({ list }, times(2500, operation)), failsWith(413));
    }
    await patched({ list }, times(2500, { op: "add", path: "/list/-", value: 0 }));
  });

  it("lets others come in between while it is applied to a request that has its turn", async (t) => {
    const adds = Array.from({ length: 20 }, (_, index) => ({ op: "add", path: `/k${index}`, value: 1 }));
    const { result, turns } = await turnsDuringRequest(t, () => patched({}, adds));
    assert.ok(turns >= 19, `${turns} turns`);
    assert.equal(Object.keys(Object(result)).length, 20);
  });

  it("cannot nest a document deeper than the limit", async () => {
    const deepen = Array.from({ length: 12 }, () => ({ op: "copy", from: "/a", path: `/a${"/a".repeat(100)}` }));
    let nested: unknown = {};
    for (let level = 0; level < 600; level++) nested = { a: nested };
    await assert.rejects(patched(nested, [...deepen]), failed);
    await assert.rejects(patched(nested, [...deepen, { op: "remove", path: "/a" }]), failed);
    const intoItself = { op: "move", from: "/b", path: `/a${"/a".repeat(500)}` };
    await assert.rejects(patched({ a: nested, b: nested }, [intoItself]), failed);
    assert.throws(() =>
      parseJsonPatch([{ op: "add", path: "/a", value: JSON.parse("[".repeat(5000) + "]".repeat(5000)) }]),
    );
  });

  const token = fc.constantFrom("a", "b", "list", "0", "1", "-", "__proto__");
  const pointer = fc.array(token, { maxLength: 3 }).map((tokens) => tokens.map((one) => `/${one}`).join(""));
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
    path: pointer,
    from: pointer,
    value: fc.jsonValue({ maxDepth: 2 }),
  });

  it("never changes what it is given, and fails only with 422", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.array(operation, { maxLength: 6 }), async (value, patch) => {
        const document = { a: value, list: [1, { b: 2 }] };
        const before = JSON.stringify([document, patch]);
        try {
          await patched(document, patch);
        } catch (error) {
          assert.ok(failed(error), String(error));
        }
        assert.equal(JSON.stringify([document, patch]), before);
      }),
    );
  });
});
