import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareFields } from "../../../../src/machinery/registry/apply/compare-fields.ts";
import { any, mapList, object } from "../../../../src/machinery/schema/schema.ts";
import { sampleEntry } from "./sample.ts";

const schema = object({
  goType: "v1.Compared",
  description: "",
  fields: {
    entries: { number: 1, schema: mapList(sampleEntry, "name"), description: "" },
    free: { number: 2, schema: any, description: "" },
  },
});

interface Case {
  readonly before: unknown;
  readonly after: unknown;
  readonly added?: object;
  readonly modified?: object;
  readonly removed?: object;
}

function assertCompared(field: "entries" | "free", { before, after, ...expected }: Case): void {
  const compared = compareFields({ schema, before: { [field]: before }, after: { [field]: after } });
  assert.deepEqual(compared, { added: {}, modified: {}, removed: {}, ...expected });
}

/** The answers are those of upstream's structured-merge-diff to the same objects. */
describe("a comparison of two objects", () => {
  const [one, other, third] = ["1", "2", "3"].map((value) => ({ name: "a", value }));
  const whole = { "f:entries": { 'k:{"name":"a"}': {} } };
  const members = { "f:entries": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:value": {} } } };

  it("takes the duplicates of an entry that was alone as a new whole value", () =>
    assertCompared("entries", { before: [one], after: [one, other], added: whole, removed: members }));

  it("takes an entry that had duplicates and is alone as new in each of its fields", () =>
    assertCompared("entries", { before: [one, other], after: [one], added: members, removed: whole }));

  it("takes duplicates as modified when one of them differs, and as the same when none does", () => {
    assertCompared("entries", { before: [one, other], after: [one, third], modified: whole });
    assertCompared("entries", { before: [one, other], after: [one, other] });
  });

  it("takes duplicates that come or go together as one value", () => {
    assertCompared("entries", { before: [{ name: "b" }], after: [{ name: "b" }, one, other], added: whole });
    assertCompared("entries", { before: [{ name: "b" }, one, other], after: [{ name: "b" }], removed: whole });
  });

  it("tells a list without entries from none", () => {
    assertCompared("entries", { before: null, after: [], modified: { "f:entries": {} } });
    assertCompared("entries", { before: [], after: [one], added: members });
    assertCompared("entries", { before: [one], after: [], removed: members });
    assertCompared("entries", { before: [], after: [] });
  });

  it("takes a free value that changes its type as modified, with what it had inside", () => {
    const free = { "f:free": {} };
    const inside = { "f:free": { "f:a": {} } };
    assertCompared("free", { before: { a: 1 }, after: 1, modified: free, removed: inside });
    assertCompared("free", { before: [1], after: { a: 1 }, modified: free, added: inside });
    assertCompared("free", { before: {}, after: 1, modified: free });
    assertCompared("free", { before: {}, after: [], modified: free });
    assertCompared("free", { before: null, after: {}, modified: free });
  });

  it("compares free objects in each of their members", () => {
    assertCompared("free", { before: {}, after: { a: 1 }, added: { "f:free": { "f:a": {} } } });
    assertCompared("free", {
      before: { a: 1, b: 1, c: 1 },
      after: { a: 2, b: 1 },
      modified: { "f:free": { "f:a": {} } },
      removed: { "f:free": { "f:c": {} } },
    });
  });
});
