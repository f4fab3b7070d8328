import assert from "node:assert/strict";
import { setOfPaths } from "../../../../src/machinery/registry/apply/owned-fields.ts";
import { describe, it } from "node:test";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { maximumValues } from "../../../../src/machinery/schema/value-limit.ts";
import { applied, ownership, refusal, sample, updated } from "./sample.ts";
import type { Fields } from "./sample.ts";

const entry = { manager: "else", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" };

describe("an update", () => {
  it("makes the writer of a new object the owner of all that it set", () => {
    const created = updated(undefined, sample({ metadata: { labels: { a: "1" } }, entries: [{ name: "x" }] }), {
      manager: "m",
    });
    assert.deepEqual(created.metadata.managedFields, [
      {
        manager: "m",
        operation: "Update",
        apiVersion: "v1",
        time: "1970-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:entries": { ".": {}, 'k:{"name":"x"}': { ".": {}, "f:name": {} } },
          "f:metadata": { "f:labels": { ".": {}, "f:a": {} } },
        },
      },
    ]);
  });

  it("moves the ownership of changed fields to its writer, and leaves the rest", () => {
    const created = updated(undefined, sample({ metadata: { labels: { a: "1", b: "1" } } }), { manager: "one" });
    const changed = updated(created, sample({ metadata: { labels: { a: "2", b: "1" } } }), { manager: "two" });
    assert.deepEqual(ownership(changed), {
      one: { "f:metadata": { "f:labels": { ".": {}, "f:b": {} } } },
      two: { "f:metadata": { "f:labels": { "f:a": {} } } },
    });
  });

  it("that only removes fields takes them from their owners", () => {
    const created = updated(undefined, sample({ text: "a", metadata: { labels: { a: "1" } } }), { manager: "one" });
    const changed = updated(created, sample({ metadata: { labels: { a: "1" } } }), { manager: "two" });
    assert.deepEqual(ownership(changed), { one: { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } } });
  });

  it("that changes nothing keeps the managedFields as they are, times included", () => {
    const created = updated(undefined, sample({ text: "a" }), { manager: "m" });
    const again = updated(created, sample({ text: "a" }), { manager: "other", now: 5000 });
    assert.equal(again.metadata.managedFields, created.metadata.managedFields);
  });

  it("does not track an object that was created with nothing to own, until it is applied", () => {
    const created = updated(undefined, sample({}), { manager: "m" });
    assert.equal(created.metadata.managedFields, undefined);
    const changed = updated(created, sample({ text: "a" }), { manager: "m" });
    assert.equal(changed.metadata.managedFields, undefined);
    assert.deepEqual(ownership(applied(changed, sample({ metadata: { labels: { l: "1" } } }), { manager: "n" })), {
      n: { "f:metadata": { "f:labels": { "f:l": {} } } },
      "before-first-apply": { "f:text": {} },
    });
  });

  it("never owns fields that its endpoint does not write", () => {
    const created = updated(undefined, sample({ text: "a", metadata: { labels: { l: "1" } } }), {
      manager: "m",
      resetFields: setOfPaths([["metadata", "labels"]]),
    });
    assert.deepEqual(ownership(created), { m: { "f:text": {} } });
  });

  it("is refused where the object has more fields than could be stored with their managers", () => {
    const labels = (count: number): Fields =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, ""]));
    const withLabels = (count: number): ApiObject => sample({ metadata: { labels: labels(count) } });
    const writer = { manager: "m" };
    const owned = ownership(updated(undefined, withLabels(8000), writer))["m"] as {
      "f:metadata": { "f:labels": object };
    };
    assert.equal(Object.keys(owned["f:metadata"]["f:labels"]).length, 8001);
    const tooMany = withLabels(Math.ceil(maximumValues / 3));
    for (const act of [() => updated(undefined, tooMany, writer), () => applied(undefined, tooMany, writer)]) {
      const { code, message } = refusal(act);
      assert.equal(code, 413);
      assert.match(message, /^there are more than 8333 fields in it/);
    }
  });

  it("accepts managedFields of the client when they are valid", () => {
    const managedFields = [{ ...entry, fieldsV1: { "f:whole": {} } }];
    const created = updated(undefined, sample({ text: "a", metadata: { managedFields } }), { manager: "m" });
    assert.deepEqual(ownership(created), { else: { "f:whole": {} }, m: { "f:text": {} } });
  });

  it("leaves out managers of a version that the server does not know, even when nothing else changes", () => {
    const created = updated(undefined, sample({ text: "a" }), { manager: "m" });
    const [known] = created.metadata.managedFields ?? [];
    const managedFields = [
      { ...known, ...entry },
      { ...entry, apiVersion: "v9" },
    ].map((each, at) => ({
      ...each,
      manager: `manager${at}`,
      fieldsV1: { "f:text": {} },
    }));
    const next = updated(created, sample({ text: "a", metadata: { managedFields } }), { manager: "m" });
    assert.deepEqual(ownership(next), { manager0: { "f:text": {} } });
  });

  it("takes a path inside a list that is owned as a whole for the list", () => {
    const managedFields = [
      { ...entry, fieldsV1: { "f:whole": { 'k:{"name":"x"}': {} }, "f:metadata": { "f:name": {} } } },
    ];
    const live = updated(undefined, sample({ whole: [{ name: "x" }] }), { manager: "m" });
    const owned = updated(live, sample({ whole: [{ name: "x" }], metadata: { managedFields } }), { manager: "m" });
    const { code, message } = refusal(() => applied(owned, sample({ whole: [{ name: "y" }] }), { manager: "other" }));
    assert.equal(code, 409);
    assert.match(message, /conflict with "else" using v1: \.whole$/);
  });

  it("keeps one entry of a manager, the last, where a client gives two managers the same name", () => {
    const live = applied(undefined, sample({ text: "a" }), { manager: "one" });
    const both = applied(live, sample({ metadata: { labels: { l: "1" } } }), { manager: "two" });
    const managedFields = both.metadata.managedFields?.map((each) => ({ ...each, manager: "same" }));
    const renamed = updated(both, sample({ text: "a", metadata: { labels: { l: "1" }, managedFields } }), {
      manager: "m",
    });
    assert.equal(renamed.metadata.managedFields?.length, 1);
    assert.deepEqual(ownership(renamed), { same: { "f:metadata": { "f:labels": { "f:l": {} } } } });
  });

  it("writes managedFields of a client in the order of the server", () => {
    const live = applied(undefined, sample({ text: "a" }), { manager: "one" });
    const both = applied(live, sample({ metadata: { labels: { l: "1" } } }), { manager: "two" });
    const managedFields = both.metadata.managedFields?.toReversed();
    const reversed = updated(both, sample({ text: "a", metadata: { labels: { l: "1" }, managedFields } }), {
      manager: "m",
    });
    assert.deepEqual(reversed.metadata.managedFields, both.metadata.managedFields);
  });

  it("ignores invalid managedFields, and those sent through a subresource", () => {
    const created = updated(undefined, sample({ text: "a" }), { manager: "m" });
    for (const managedFields of [
      [{ ...entry, operation: "Nonsense" }],
      [{ ...entry, apiVersion: "" }],
      [{ ...entry, fieldsType: "FieldsV2" }],
      [{ ...entry, fieldsV1: { "f:a": 1 } }],
    ] as object[][]) {
      const next = updated(created, sample({ text: "a", metadata: { managedFields } }), { manager: "m" });
      assert.deepEqual(ownership(next), { m: { "f:text": {} } });
    }
    const managedFields = [{ ...entry, fieldsV1: { "f:whole": {} } }];
    const status = { manager: "m", subresource: "status" };
    assert.deepEqual(ownership(updated(created, sample({ text: "a", metadata: { managedFields } }), status)), {
      m: { "f:text": {} },
    });
  });

  it("with an empty list, or one empty entry, resets managedFields", () => {
    const created = updated(undefined, sample({ text: "a" }), { manager: "m" });
    for (const managedFields of [[], [{}]]) {
      const next = updated(created, sample({ text: "a", metadata: { managedFields } }), { manager: "m" });
      assert.equal(next.metadata.managedFields, undefined);
    }
  });

  it("clears managedFields when a list entry has no key that could be owned", () => {
    const created = updated(undefined, sample({ text: "a" }), { manager: "m" });
    const next = updated(created, sample({ text: "a", entries: [{ value: "x" }] }), { manager: "m" });
    assert.equal(next.metadata.managedFields, undefined);
  });

  it("merges the oldest of more than ten updaters", () => {
    let object = updated(undefined, sample({}), { manager: "first" });
    object = updated(undefined, sample({ metadata: { labels: { m0: "0" } } }), { manager: "m0" });
    for (let n = 1; n <= 12; n++) {
      const labels = { ...object.metadata.labels, [`m${n}`]: "1" };
      object = updated(object, sample({ metadata: { labels } }), { manager: `m${n}`, now: n * 1000 });
    }
    const owners = Object.keys(ownership(object));
    assert.deepEqual(owners, ["ancient-changes", "m4", "m5", "m6", "m7", "m8", "m9", "m10", "m11", "m12"]);
    assert.deepEqual(ownership(object)["ancient-changes"], {
      "f:metadata": { "f:labels": { ".": {}, "f:m0": {}, "f:m1": {}, "f:m2": {}, "f:m3": {} } },
    });
  });
});
