import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { parseConfiguration } from "../../../../src/machinery/registry/apply/apply-configuration.ts";
import { configurationFaults } from "../../../../src/machinery/registry/apply/configuration-faults.ts";
import { maximumFields } from "../../../../src/machinery/registry/apply/fields-of.ts";
import { applied, ownership, refusal, sample, sampleSchema, updated } from "./sample.ts";
import type { Fields } from "./sample.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";
const without = (object: Fields): Fields => {
  const { metadata, ...rest } = object as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, managedFields: undefined } };
};

describe("a server-side apply", () => {
  it("creates an object and owns its fields, but not the lists and maps around them", () => {
    const created = applied(undefined, sample({ metadata: { labels: { l: "1" } }, entries: [{ name: "x" }] }), {
      manager: "m",
    });
    assert.deepEqual(created.metadata.managedFields, [
      {
        manager: "m",
        operation: "Apply",
        apiVersion: "v1",
        time: "1970-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:entries": { 'k:{"name":"x"}': { ".": {}, "f:name": {} } },
          "f:metadata": { "f:labels": { "f:l": {} } },
        },
      },
    ]);
  });

  it("removes fields that the next configuration omits, unless another manager owns them", () => {
    const first = applied(undefined, sample({ text: "a", entries: [{ name: "x" }, { name: "both" }] }), {
      manager: "one",
    });
    const second = applied(first, sample({ entries: [{ name: "both" }] }), { manager: "two" });
    const third = applied(second, sample({}), { manager: "one" });
    assert.deepEqual(third, { ...sample({ entries: [{ name: "both" }] }), metadata: third.metadata });
    assert.deepEqual(Object.keys(ownership(third)), ["two"]);
  });

  it("lets managers own the same value together, without a time for those that changed nothing", () => {
    const first = applied(undefined, sample({ text: "a" }), { manager: "one" });
    const second = applied(first, sample({ text: "a" }), { manager: "two", now: 1000 });
    assert.deepEqual(
      second.metadata.managedFields?.map(({ manager, time }) => [manager, time]),
      [
        ["two", undefined],
        ["one", "1970-01-01T00:00:00Z"],
      ],
    );
  });

  it("conflicts with the other owners of the fields that it would change", () => {
    const live = updated(undefined, sample({ text: "a" }), { manager: "creator" });
    const error = refusal(() => applied(live, sample({ text: "b" }), { manager: "m" }));
    assert.equal(error.code, 409);
    assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "creator" using v1: .text');
    assert.deepEqual(error.details?.causes, [
      { reason: "FieldManagerConflict", message: 'conflict with "creator" using v1', field: ".text" },
    ]);
  });

  it("names a hundred of its conflicts, and says how many there are", () => {
    const entries = (value: string): object[] => Array.from({ length: 90 }, (_, n) => ({ name: `${n}`, value }));
    const one = applied(undefined, sample({ text: "a", entries: entries("a") }), { manager: "one" });
    const two = applied(one, sample({ text: "a", entries: entries("a") }), { manager: "two" });
    const { message, details } = refusal(() =>
      applied(two, sample({ text: "b", entries: entries("b") }), { manager: "three" }),
    );
    assert.match(message, /^Apply failed with 182 conflicts: /);
    assert.equal(details?.causes?.length, 100);
  });

  it("is checked in steps, however many members and entries it has", () => {
    const labels = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`l${n}`, "v"]));
    const entries = Array.from({ length: 600 }, (_, n) => ({ name: `${n}` }));
    const steps = [...configurationFaults(sampleSchema, sample({ metadata: { labels }, entries }))];
    assert.equal(steps.length, 5, "one after the depth, two in each");
  });

  it("names every field and manager of its conflicts", () => {
    const labels = { l: "1" };
    const one = applied(undefined, sample({ text: "a", metadata: { labels } }), { manager: "one" });
    const two = applied(one, sample({ entries: [{ name: "x", value: "1" }] }), {
      manager: "two",
      subresource: "status",
    });
    const three = sample({ text: "b", metadata: { labels: { l: "2" } }, entries: [{ name: "x", value: "2" }] });
    assert.equal(
      refusal(() => applied(two, three, { manager: "three" })).message,
      'Apply failed with 3 conflicts: conflicts with "one":\n- .text\n- .metadata.labels.l\n' +
        'conflicts with "two" with subresource "status":\n- .entries[name="x"].value',
    );
  });

  it("takes over fields when it is forced", () => {
    const live = updated(undefined, sample({ text: "a" }), { manager: "creator" });
    const taken = applied(live, sample({ text: "b" }), { manager: "m", isForced: true });
    assert.deepEqual(ownership(taken), { m: { "f:text": {} } });
  });

  it("keeps fields that were updated meanwhile, and no longer owns them", () => {
    const first = applied(undefined, sample({ text: "a", metadata: { labels: { l: "1" } } }), { manager: "m" });
    const second = updated(first, sample({ text: "b", metadata: { labels: { l: "1" } } }), { manager: "u" });
    const third = applied(second, sample({ metadata: { labels: { l: "1" } } }), { manager: "m" });
    assert.deepEqual(third, { ...sample({ text: "b" }), metadata: third.metadata });
    assert.deepEqual(ownership(third), { m: { "f:metadata": { "f:labels": { "f:l": {} } } }, u: { "f:text": {} } });
  });

  it("keeps what another manager has in an entry of a list that both apply", () => {
    const first = applied(undefined, sample({ entries: [{ name: "x", value: "1" }] }), { manager: "one" });
    const second = applied(first, sample({ entries: [{ name: "x" }] }), { manager: "two" });
    assert.deepEqual(without({ ...second }), without({ ...first }));
    assert.deepEqual(Object.keys(ownership(second)).toSorted(), ["one", "two"]);
  });

  it("replaces an entry that the list has twice", () => {
    const twice = updated(
      undefined,
      sample({
        entries: [
          { name: "x", value: "1" },
          { name: "x", value: "2" },
        ],
      }),
      { manager: "u" },
    );
    const { entries }: Fields = {
      ...applied(twice, sample({ entries: [{ name: "x" }] }), { manager: "m", isForced: true }),
    };
    assert.deepEqual(entries, [{ name: "x" }]);
  });

  it("conflicts with what an object has whose fields nobody owns", () => {
    const { managedFields: _owners, ...metadata } = updated(undefined, sample({}), { manager: "u" }).metadata;
    const live = { ...sample({ text: "a" }), metadata };
    const message = 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .text';
    assert.equal(refusal(() => applied(live, sample({ text: "b" }), { manager: "m" })).message, message);
    const kept = applied(live, sample({ metadata: { labels: { l: "1" } } }), { manager: "m" });
    assert.deepEqual(ownership(kept)["before-first-apply"], { "f:text": {} });
  });

  it("puts its entries in its own order, and those of others before the entry that they preceded", () => {
    const names = ({ entries = [] }: Fields): string =>
      (entries as readonly { readonly name: string }[]).map(({ name: one }) => one).join(" ");
    const listOf = (text: string): ApiObject => sample({ entries: text.split(" ").map((one) => ({ name: one })) });
    const merged = (live: string, mine: string): string =>
      names({ ...applied(updated(undefined, listOf(live), { manager: "u" }), listOf(mine), { manager: "m" }) });
    assert.equal(merged("a b c", "b"), "a b c");
    assert.equal(merged("a b c", "d b"), "a d b c");
    assert.equal(merged("a b c", "c a"), "b c a");
    assert.equal(merged("a b", "b c a"), "b c a");
    assert.equal(merged("a x b y", "b a n"), "x b y a n");
    assert.equal(merged("a b x", "a n b"), "a n b x");
    assert.equal(merged("a x b", "n m a b"), "n m a x b");
  });

  it("owns what it sets to null", () => {
    const created = applied(undefined, sample({ text: null, entries: null, metadata: { labels: null } }), {
      manager: "m",
    });
    assert.deepEqual(ownership(created), { m: { "f:entries": {}, "f:metadata": { "f:labels": {} }, "f:text": {} } });
  });

  it("refuses a configuration that does not match the schema, with every fault and no value", () => {
    const error = refusal(() =>
      applied(
        undefined,
        sample({
          text: 1,
          nonsense: "secret",
          whole: "secret",
          entries: [{ name: "x" }, { name: "x" }, { value: "secret" }, "secret"],
        }),
        { manager: "m" },
      ),
    );
    assert.equal(error.code, 422);
    assert.deepEqual(
      error.details?.causes?.map(({ field, message }) => `${field}: ${message}`),
      [
        "text: Invalid value: expected string, got number",
        "nonsense: Invalid value: field not declared in schema",
        "whole: Invalid value: expected list, got string",
        'entries: Invalid value: duplicate entries for key [name="x"]',
        "entries[2]: Invalid value: an entry needs a value of its key: name",
        "entries[3]: Invalid value: a list with keys may only have entries that are objects",
      ],
    );
    assert.doesNotMatch(error.message, /secret/);
  });

  it("refuses metadata that is not an object", () => {
    const configuration = { ...sample({}), metadata: "x" } as unknown as ApiObject; // as a client may send it
    assert.equal(refusal(() => applied(undefined, configuration, { manager: "m" })).code, 422);
  });

  it("refuses to merge into a live list whose entries have no key", () => {
    const live = sample({ entries: [{ value: "x" }], metadata: { uid: "u" } });
    assert.equal(refusal(() => applied(live, sample({ entries: [{ name: "x" }] }), { manager: "m" })).code, 422);
  });

  it("by kubectl takes over what kubectl's client-side apply set, and keeps its annotation up to date", () => {
    const configuration = { apiVersion: "v1", kind: "Sample", metadata: { name: "s" }, text: "a" };
    const annotations = { [annotation]: JSON.stringify(configuration) };
    const live = updated(undefined, sample({ text: "a", metadata: { annotations } }), { manager: "kubectl-client" });
    const next = applied(live, sample({ text: "b" }), { manager: "kubectl" });
    assert.equal(
      next.metadata.annotations?.[annotation],
      '{"apiVersion":"v1","kind":"Sample","metadata":{"name":"s"},"text":"b"}\n',
    );
    assert.throws(() => applied(live, sample({ text: "b" }), { manager: "other" }), ApiError);
    const { metadata } = applied(live, sample({ metadata: { labels: { l: "1" } } }), { manager: "other" });
    assert.deepEqual(metadata.annotations, annotations);
  });

  it("by kubectl conflicts with what changed since kubectl's client-side apply", () => {
    const configuration = {
      apiVersion: "v1",
      kind: "Sample",
      metadata: { name: "s" },
      entries: [{ name: "x", value: "1" }],
    };
    const metadata = { annotations: { [annotation]: JSON.stringify(configuration) } };
    const first = updated(undefined, sample({ ...configuration, metadata }), { manager: "kubectl-client" });
    const changed = { metadata, entries: [{ name: "x", value: "2" }], text: "a" };
    const live = updated(first, sample(changed), { manager: "other" });
    const conflicts = (fields: Fields): string =>
      refusal(() => applied(live, sample(fields), { manager: "kubectl" })).message.replace(/.*: /s, "");
    assert.equal(conflicts({ entries: [{ name: "x", value: "3" }] }), '.entries[name="x"].value');
    assert.equal(conflicts({ text: "b" }), ".text");
  });

  it("by kubectl takes over nothing because of an annotation of another version, or one that is no object of the kind", () => {
    const configuration = { apiVersion: "v1", kind: "Sample", metadata: { name: "s" }, text: "a" };
    const deep = `{"fieldsV1":${"[".repeat(40_000)}${"]".repeat(40_000)}}`;
    for (const text of [
      JSON.stringify({ ...configuration, apiVersion: "v2" }),
      JSON.stringify({ ...configuration, nonsense: 1 }),
      JSON.stringify({ ...configuration, entries: [{ value: "x" }] }),
      JSON.stringify(configuration).replace('"name":"s"', `"managedFields":[${deep}]`),
      "[]",
      "{",
    ]) {
      const live = updated(undefined, sample({ text: "a", metadata: { annotations: { [annotation]: text } } }), {
        manager: "kubectl-client",
      });
      const error = refusal(() => applied(live, sample({ text: "b" }), { manager: "kubectl" }));
      assert.match(error.message, /conflict with "kubectl-client" using v1: \.text$/, text.slice(0, 100));
    }
  });

  it("by kubectl never puts the annotation into itself, and leaves it empty where it is empty", () => {
    const appliedTo = (text: string): Fields => {
      const live = sample({ metadata: { annotations: { [annotation]: text } } });
      const sent = sample({ metadata: { annotations: { [annotation]: text, own: "1" } } });
      return applied(live, sent, { manager: "kubectl", isForced: true }).metadata.annotations ?? {};
    };
    assert.deepEqual(
      JSON.parse(String(appliedTo("{}")[annotation])),
      sample({ metadata: { annotations: { own: "1" } } }),
    );
    assert.equal(appliedTo("")[annotation], "");
  });

  it("changes an object whatever number of fields has no manager, and its annotation of kubectl has", () => {
    const many = Object.fromEntries(Array.from({ length: maximumFields + 1 }, (_, at) => [`l${at}`, ""]));
    const annotations = { [annotation]: JSON.stringify(sample({ metadata: { labels: many } })) };
    const metadata = { annotations, labels: { ...many, own: "a" } };
    const managedFields = [{ manager: "kubectl", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1" }].map(
      (entry) => ({ ...entry, fieldsV1: { "f:metadata": { "f:labels": { "f:own": {} } } } }),
    );
    const live = updated(sample({ metadata }), sample({ metadata: { ...metadata, managedFields } }), { manager: "m" });
    const { labels } = applied(live, sample({ metadata: { labels: { own: "b" } } }), { manager: "kubectl" }).metadata;
    assert.deepEqual(labels, { ...many, own: "b" });
  });

  it("by kubectl removes an annotation that would make the annotations too long", () => {
    const annotations = { [annotation]: "{}", long: "a".repeat(262_000) };
    const live = updated(undefined, sample({ metadata: { annotations } }), { manager: "u" });
    const apply = (text: string): Fields =>
      applied(live, sample({ text }), { manager: "kubectl" }).metadata.annotations ?? {};
    assert.deepEqual(Object.keys(apply("a")).toSorted(), [annotation, "long"]);
    assert.deepEqual(Object.keys(apply("a".repeat(200))), ["long"]);
  });

  const name = fc.constantFrom("a", "b", "c");
  const configurations = (names: fc.Arbitrary<string>): fc.Arbitrary<Fields> =>
    fc.record(
      {
        metadata: fc.record({
          labels: fc.dictionary(names, fc.constantFrom("1", "2"), { minKeys: 1, noNullPrototype: true }),
        }),
        entries: fc.uniqueArray(fc.record({ name: names, value: name }, { noNullPrototype: true }), {
          selector: (one) => one.name,
        }),
      },
      { noNullPrototype: true },
    );

  it("changes nothing the second time", () => {
    fc.assert(
      fc.property(configurations(name), configurations(name), (one, other) => {
        const live = updated(undefined, sample(one), { manager: "creator" });
        const writer = { manager: "m", isForced: true, now: 1000 };
        const once = applied(live, sample(other), writer);
        assert.deepEqual(applied(once, sample(other), writer), once);
      }),
    );
  });

  it("leads to the same fields and owners in whatever order managers apply different fields", () => {
    const mine = configurations(fc.constantFrom("a", "b"));
    const theirs = configurations(fc.constantFrom("c", "d"));
    fc.assert(
      fc.property(mine, theirs, (one, other) => {
        const there = applied(applied(undefined, sample(one), { manager: "1" }), sample(other), { manager: "2" });
        const back = applied(applied(undefined, sample(other), { manager: "2" }), sample(one), { manager: "1" });
        const ordered = ({ entries = [], ...rest }: Fields): unknown => ({
          ...rest,
          entries: (entries as { name: string }[]).toSorted((left, right) => (left.name < right.name ? -1 : 1)),
        });
        assert.deepEqual(ordered(without({ ...there })), ordered(without({ ...back })));
        assert.deepEqual(ownership(there), ownership(back));
      }),
    );
  });

  it("leaves no trace once its manager applies nothing", () => {
    fc.assert(
      fc.property(configurations(name), (configuration) => {
        const live = applied(undefined, sample(configuration), { manager: "m" });
        const { metadata, ...rest } = applied(live, sample({}), { manager: "m" });
        assert.deepEqual(rest, { apiVersion: "v1", kind: "Sample" });
        assert.deepEqual([metadata.labels, metadata.managedFields], [undefined, undefined]);
      }),
    );
  });

  it("does not modify its input", () => {
    fc.assert(
      fc.property(configurations(name), configurations(name), (one, other) => {
        const live = applied(undefined, sample(one), { manager: "m" });
        const configuration = sample(other);
        const before = JSON.stringify([live, configuration]);
        applied(live, configuration, { manager: "m" });
        assert.equal(JSON.stringify([live, configuration]), before);
      }),
    );
  });
});

describe("the body of an apply", () => {
  const expected = { group: "certificates.example.com", version: "v1", kind: "Sample" };
  const apiVersion = "certificates.example.com/v1";
  const wordsOf = (body: unknown): string => {
    const error = refusal(() => parseConfiguration(body, expected));
    assert.equal(error.code, 400);
    return error.message;
  };

  it("must be of the kind of the path", () => {
    assert.equal(wordsOf(null), "invalid object type: /, Kind=");
    assert.equal(wordsOf({ apiVersion: "v1" }), "invalid object type: /v1, Kind=");
    assert.equal(wordsOf({ kind: "Sample" }), "invalid object type: /, Kind=Sample");
    assert.equal(wordsOf({ apiVersion: "a/b/c", kind: "Sample" }), "invalid object type: /, Kind=");
    assert.equal(
      wordsOf({ apiVersion, kind: "Other" }),
      "invalid object type: certificates.example.com/v1, Kind=Other",
    );
    assert.equal(parseConfiguration({ apiVersion, kind: "Sample" }, expected).kind, "Sample");
  });

  it("has empty metadata where they are null, and none where they are missing", () => {
    const parsed = (metadata: object): object =>
      parseConfiguration({ apiVersion, kind: "Sample", ...metadata }, expected);
    assert.deepEqual(parsed({ metadata: null }), parsed({ metadata: {} }));
    assert.deepEqual(parsed({}), { apiVersion, kind: "Sample" });
  });

  it("must have no managedFields", () => {
    const withMetadata = (metadata: object) => ({ apiVersion, kind: "Sample", metadata });
    assert.equal(wordsOf(withMetadata({ managedFields: [] })), "metadata.managedFields must be nil");
    const metadata = { managedFields: null };
    assert.deepEqual(parseConfiguration(withMetadata(metadata), expected).metadata, metadata);
  });

  it("must be an object", () => {
    assert.equal(
      wordsOf([]),
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value " +
        "of type map[string]interface {}",
    );
  });
});
