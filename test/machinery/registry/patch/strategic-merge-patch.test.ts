import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { isSameJson } from "../../../../src/machinery/registry/patch/json-value.ts";
import {
  applyStrategicMergePatch,
  parseStrategicMergePatch,
} from "../../../../src/machinery/registry/patch/strategic-merge-patch.ts";
import { atomicList, mapList, mapOf, object, setList, string } from "../../../../src/machinery/schema/schema.ts";

const entry = object({
  goType: "v1.Entry",
  description: "",
  fields: {
    name: { number: 1, schema: string, description: "" },
    kind: { number: 2, schema: string, description: "" },
  },
});
const schema = object({
  goType: "v1.Sample",
  description: "",
  fields: {
    metadata: {
      number: 1,
      description: "",
      schema: object({
        goType: "v1.Meta",
        description: "",
        fields: {
          labels: { number: 1, schema: mapOf(string), description: "" },
          finalizers: { number: 2, schema: setList(string), description: "" },
        },
      }),
    },
    secrets: { number: 2, schema: mapList(entry, "name"), description: "" },
    imagePullSecrets: { number: 3, schema: atomicList(entry), description: "" },
  },
});

type JsonObject = Record<string, unknown>;
const patched = (document: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMergePatch({ document, patch, schema });

const isRefusedWith = (code: number) => (error: unknown) => error instanceof ApiError && error.code === code;

interface GoldenCase {
  readonly document: JsonObject;
  readonly patch: JsonObject;
  readonly patched?: JsonObject;
  readonly isRefused?: boolean;
}

/** As the API would store it: without nulls and empty lists and maps, and without what the schema does not name. */
function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => member !== null && !key.startsWith("$") && key !== "creationTimestamp")
      .map(([key, member]) => [key, stored(member)])
      .filter(([, member]) => typeof member !== "object" || Object.keys(Object(member)).length > 0),
  );
}

const golden = JSON.parse(
  readFileSync(new URL("fixtures/strategic-merge.json", import.meta.url), "utf8"),
) as readonly GoldenCase[];

describe("a strategic merge patch", () => {
  it(`does what upstream does with ${golden.length} random patches`, () => {
    for (const one of golden) {
      const shown = JSON.stringify(one);
      const document = stored(one.document) as JsonObject; // an object stays one
      if (one.isRefused === true) assert.throws(() => patched(document, one.patch), ApiError, shown);
      else assert.deepEqual(stored(patched(document, one.patch)), stored(one.patched), shown);
    }
  });

  it("puts new entries of a merged list first, and merges those with the same key in their place", () => {
    const document = { secrets: [{ name: "a", kind: "x" }, { name: "b" }] };
    assert.deepEqual(patched(document, { secrets: [{ name: "c" }] }), {
      secrets: [{ name: "c" }, { name: "a", kind: "x" }, { name: "b" }],
    });
    assert.deepEqual(patched(document, { secrets: [{ name: "b", kind: "y" }] }), {
      secrets: [
        { name: "a", kind: "x" },
        { name: "b", kind: "y" },
      ],
    });
  });

  it("deletes, replaces and orders entries by directives", () => {
    const document = { secrets: [{ name: "a" }, { name: "b" }], metadata: { finalizers: ["x", "y"] } };
    assert.deepEqual(patched(document, { secrets: [{ $patch: "delete", name: "a" }] }).secrets, [{ name: "b" }]);
    assert.deepEqual(patched(document, { secrets: [{ $patch: "replace" }, { name: "c" }] }).secrets, [{ name: "c" }]);
    assert.deepEqual(patched(document, { "$setElementOrder/secrets": [{ name: "b" }, { name: "a" }] }).secrets, [
      { name: "b" },
      { name: "a" },
    ]);
    assert.deepEqual(patched(document, { "$setElementOrder/secrets": [], secrets: [{ name: "c" }] }).secrets, [
      { name: "a" },
      { name: "b" },
      { name: "c" },
    ]);
    assert.deepEqual(patched(document, { metadata: { "$deleteFromPrimitiveList/finalizers": ["x"] } }).metadata, {
      finalizers: ["y"],
    });
  });

  it("replaces an atomic list, directives and all", () => {
    const imagePullSecrets = [{ $patch: "delete", name: "p" }];
    assert.deepEqual(patched({ imagePullSecrets: [{ name: "p" }] }, { imagePullSecrets }), { imagePullSecrets });
  });

  it("replaces or empties an object by a directive", () => {
    const document = { metadata: { labels: { a: "1" }, finalizers: ["f"] } };
    const replaced = { metadata: { labels: { $patch: "replace", b: "2" } } };
    assert.deepEqual(patched(document, replaced), { metadata: { labels: { b: "2" }, finalizers: ["f"] } });
    const emptied = { metadata: { labels: { $patch: "delete", b: "2" } } };
    assert.deepEqual(patched(document, emptied), { metadata: { labels: {}, finalizers: ["f"] } });
    assert.deepEqual(patched(document, { $patch: "replace", secrets: [] }), { secrets: [] });
  });

  it("takes an atomic list as it is, and a new one without directives, when it has an order", () => {
    const $setElementOrder = "$setElementOrder/imagePullSecrets";
    const document = { imagePullSecrets: [{ name: "a" }] };
    const list = [{ name: "b" }];
    assert.deepEqual(patched(document, { imagePullSecrets: list, [$setElementOrder]: list }), {
      imagePullSecrets: list,
    });
    const secrets = [{ name: "a" }, { name: "b", $patch: "delete" }];
    const created = patched({}, { secrets, "$setElementOrder/secrets": [{ name: "a" }] });
    assert.deepEqual(created, { secrets: [{ name: "a" }] });
  });

  it("leaves out nulls of an object that is new, at any depth", () => {
    const metadata = { labels: { a: null, b: "2" }, finalizers: null };
    assert.deepEqual(patched({}, { metadata }), { metadata: { labels: { b: "2" } } });
  });

  it("merges into the first of several entries with one key, and deletes all of them", () => {
    const document = { secrets: [{ name: "a", kind: "first" }, { name: "a", kind: "second" }, { name: "b" }] };
    assert.deepEqual(patched(document, { secrets: [{ name: "a", kind: "new" }] }).secrets, [
      { name: "a", kind: "new" },
      { name: "a", kind: "second" },
      { name: "b" },
    ]);
    assert.deepEqual(patched(document, { secrets: [{ name: "a", $patch: "delete" }] }).secrets, [{ name: "b" }]);
  });

  it("deletes a whole list of values by null", () => {
    const document = { metadata: { finalizers: ["f"] } };
    assert.deepEqual(patched(document, { metadata: { "$deleteFromPrimitiveList/finalizers": null } }), {
      metadata: {},
    });
  });

  it("merges a deletion list of objects, and what is no list, and ignores a value of another type, as upstream", () => {
    const document = { metadata: { finalizers: ["x"], labels: { a: "1" } }, secrets: [{ name: "a" }] };
    const merged = patched(document, { "$deleteFromPrimitiveList/secrets": [{ name: "a", kind: "k" }, { name: "b" }] });
    assert.deepEqual(merged.secrets, [{ name: "a", kind: "k" }, { name: "b" }]);
    assert.deepEqual(patched(document, { metadata: { "$deleteFromPrimitiveList/finalizers": "x" } }), document);
    const labelled = patched(document, { metadata: { "$deleteFromPrimitiveList/labels": { b: "2" } } });
    assert.deepEqual(labelled.metadata, { finalizers: ["x"], labels: { a: "1", b: "2" } });
  });

  it("clears the keys that $retainKeys does not list", () => {
    const document = { metadata: { labels: { a: "1", b: "2" } } };
    assert.deepEqual(patched(document, { metadata: { labels: { $retainKeys: ["c"], c: "3" } } }), {
      metadata: { labels: { c: "3" } },
    });
    assert.deepEqual(patched(document, { metadata: { labels: { $retainKeys: ["a"], b: null } } }), {
      metadata: { labels: { a: "1" } },
    });
  });

  it("needs no list for a directive about it", () => {
    const finalizers = { "$setElementOrder/finalizers": ["x"], "$deleteFromPrimitiveList/finalizers": ["x"] };
    const metadata = { $retainKeys: ["labels"], ...finalizers };
    assert.deepEqual(patched({ metadata: { labels: {} } }, { metadata }), { metadata: { labels: {} } });
    assert.deepEqual(patched({ secrets: [] }, { secrets: null, "$setElementOrder/secrets": [{ name: "a" }] }), {});
  });

  const misfits: readonly (readonly [string, number, JsonObject])[] = [
    ["an entry without its merge key", 422, { secrets: [{ kind: "x" }] }],
    ["a deletion without its merge key", 422, { secrets: [{ $patch: "delete" }] }],
    ["an unknown directive", 422, { metadata: { $patch: "nonsense" } }],
    ["an unknown directive of an entry", 422, { secrets: [{ $patch: "nonsense", name: "a" }] }],
    ["a scalar among objects", 422, { secrets: ["a"] }],
    ["null in a list", 422, { secrets: [null] }],
    ["a merge key that is no scalar", 422, { secrets: [{ name: { a: 1 } }] }],
    ["a list in a list", 400, { secrets: [["a"]] }],
    ["an order that is no list", 400, { "$setElementOrder/secrets": "a" }],
    ["an order of nothing", 400, { $setElementOrder: [] }],
    ["an order without merge keys", 422, { "$setElementOrder/secrets": [{}], secrets: [{ name: "z" }] }],
    [
      "an order that the list does not follow",
      422,
      { "$setElementOrder/secrets": [{ name: "b" }], secrets: [{ name: "a" }] },
    ],
    [
      "a deletion list of objects of an atomic list",
      422,
      { "$deleteFromPrimitiveList/imagePullSecrets": [{ name: "a" }] },
    ],
    ["values of another type in a deletion list", 422, { metadata: { "$deleteFromPrimitiveList/finalizers": [1] } }],
    ["the order of a field that there is not", 422, { "$setElementOrder/nothing": [{ name: "a" }] }],
    ["the order of what is no list", 422, { metadata: { "$setElementOrder/labels": ["a"] } }],
    ["$retainKeys that is no list", 400, { metadata: { $retainKeys: "a" } }],
    ["$retainKeys that misses what is set", 400, { metadata: { $retainKeys: ["labels"], finalizers: ["z"] } }],
  ];
  for (const [title, code, patch] of misfits) {
    it(`is refused with ${code} for ${title}`, () => {
      const secrets = [{ name: "a" }, { name: "b" }];
      const document = { metadata: { finalizers: ["x"] }, secrets, imagePullSecrets: [{ name: "a" }] };
      assert.throws(() => patched(document, patch), isRefusedWith(code));
    });
  }

  it("must be an object, or null for nothing", () => {
    assert.deepEqual(parseStrategicMergePatch(null), {});
    assert.throws(() => parseStrategicMergePatch([]), isRefusedWith(400));
  });

  const name = fc.constantFrom("a", "b", "c", "d", "e");
  const entries = fc.uniqueArray(fc.record({ name, kind: fc.constantFrom("x", "y") }, { noNullPrototype: true }), {
    selector: (one) => one.name,
    maxLength: 5,
  });
  const documents = fc.record({
    secrets: entries,
    labels: fc.dictionary(name, fc.constantFrom("1", "2"), { noNullPrototype: true }),
  });
  type Sample = { readonly secrets: { name: string; kind: string }[]; readonly labels: Record<string, string> };
  const toDocument = ({ secrets, labels }: Sample): JsonObject => ({ secrets, metadata: { labels } });

  /** The patch that kubectl would make of two documents. */
  function diff(before: Sample, after: Sample): JsonObject {
    const gone = before.secrets.filter((one) => !after.secrets.some((other) => other.name === one.name));
    const changed = after.secrets.filter((one) => !before.secrets.some((other) => isSameJson(one, other)));
    const labels: Record<string, string | null> = { ...after.labels };
    for (const key of Object.keys(before.labels)) labels[key] ??= null;
    return {
      "$setElementOrder/secrets": after.secrets.map((one) => ({ name: one.name })),
      secrets: [...changed, ...gone.map((one) => ({ $patch: "delete", name: one.name }))],
      metadata: { labels },
    };
  }

  it("made by comparing two documents turns one into the other, and changes nothing that it is given", () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        const [document, patch] = [toDocument(before), diff(before, after)];
        const given = JSON.stringify([document, patch]);
        assert.deepEqual(patched(document, patch), toDocument(after));
        assert.equal(JSON.stringify([document, patch]), given);
      }),
    );
  });
});

describe("entries of a patch with the same key", () => {
  const repeated = (times: number): JsonObject[] => Array.from({ length: times }, (_, at) => ({ name: "a", [at]: at }));
  const document = { secrets: [{ name: "a" }] };

  it("are merged one after the other", () => {
    assert.deepEqual(patched(document, { secrets: repeated(3) }), { secrets: [{ name: "a", 0: 0, 1: 1, 2: 2 }] });
  });

  it("are few, because each copies what was merged before", () => {
    patched(document, { secrets: repeated(11) });
    assert.throws(() => patched(document, { secrets: repeated(12) }), isRefusedWith(413));
    const ordered = { secrets: repeated(12), "$setElementOrder/secrets": repeated(12) };
    assert.throws(() => patched(document, ordered), isRefusedWith(413));
  });
});
