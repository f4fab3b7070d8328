import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { firstFaults } from "../../../../src/machinery/api/validation/field-error.ts";
import { validateDnsSubdomainName } from "../../../../src/machinery/api/validation/name-validation.ts";
import type { ObjectMeta, OwnerReference } from "../../../../src/machinery/api/object-meta.ts";
import {
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "../../../../src/machinery/api/validation/object-meta-validation.ts";

const rules = { isNamespaced: true, validateName: validateDnsSubdomainName };
const valid: ObjectMeta = { name: "a", namespace: "ns", resourceVersion: "1", uid: "u" };
const owner: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "own", uid: "o" };

const faultsOf = (meta: ObjectMeta): string[] =>
  validateObjectMeta(meta, rules).whole.map(({ field, message }) => `${field}: ${message.slice(0, 60)}`);

/** Changes to valid new metadata, with the beginnings of the resulting faults. */
const table: readonly (readonly [string, ObjectMeta, readonly string[]])[] = [
  ["nothing wrong", {}, []],
  ["no name", { name: "" }, ["metadata.name: Required value: name or generateName is required"]],
  ["no namespace", { namespace: "" }, ["metadata.namespace: Required value"]],
  ["a negative generation", { generation: -1 }, ["metadata.generation: Invalid value: -1: must be greater"]],
  [
    "a label key with two slashes",
    { labels: { "a/b/c": "" } },
    ['metadata.labels: Invalid value: "a/b/c": a valid label key'],
  ],
  [
    "a label key without a prefix",
    { labels: { "/a": "" } },
    ['metadata.labels: Invalid value: "/a": prefix part must be non-empty'],
  ],
  [
    "a label key without a name",
    { labels: { "a/": "" } },
    [
      'metadata.labels: Invalid value: "a/": name part must be non-empty',
      'metadata.labels: Invalid value: "a/": name part must consist',
    ],
  ],
  [
    "a label value of 64 bytes",
    { labels: { a: "x".repeat(64) } },
    [`metadata.labels: Invalid value: "${"x".repeat(40)}`],
  ],
  [
    "a label value that begins with a dash",
    { labels: { a: "-x" } },
    ['metadata.labels: Invalid value: "-x": a valid label must be'],
  ],
  ["an upper-case annotation prefix", { annotations: { "UP.example.com/a": "x" } }, []],
  ["annotations of 256 KiB", { annotations: { a: "x".repeat(256 * 1024 - 1) } }, []],
  [
    "larger annotations",
    { annotations: { a: "x".repeat(256 * 1024) } },
    ["metadata.annotations: Too long: may not be more than 262144 bytes"],
  ],
  ["an owner of any kind", { ownerReferences: [owner] }, []],
  [
    "an owner without a version",
    { ownerReferences: [{ ...owner, apiVersion: "a/b/c" }] },
    ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
  ],
  [
    "an owner without anything",
    { ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] },
    ["apiVersion", "kind", "name", "uid"].map((part) => `metadata.ownerReferences.${part}: Invalid value: ""`),
  ],
  [
    "two controllers",
    {
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, uid: "p", controller: true },
      ],
    },
    ['metadata.ownerReferences: Invalid value: [{"apiVersion":"v1"'],
  ],
  [
    "an Event as the owner",
    { ownerReferences: [{ ...owner, kind: "Event" }] },
    ['metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event"'],
  ],
  [
    "an Event as the owner, with an empty group",
    { ownerReferences: [{ ...owner, apiVersion: "/v1", kind: "Event" }] },
    ['metadata.ownerReferences: Invalid value: {"apiVersion":"/v1","kind":"Event"'],
  ],
  ["standard finalizers", { finalizers: ["kubernetes", "orphan"] }, []],
  [
    "a finalizer without a domain",
    { finalizers: ["example.com/a", "nodomain"] },
    ['metadata.finalizers[1]: Invalid value: "nodomain": name is neither a standard'],
  ],
  [
    "both of the collector's finalizers",
    { finalizers: ["orphan", "foregroundDeletion"] },
    ['metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer'],
  ],
  [
    "a field manager of neither kind",
    { managedFields: [{ manager: "m\n", operation: "Steal" }] },
    [
      'metadata.managedFields[0].operation: Invalid value: "Steal": must be `Apply`',
      'metadata.managedFields[0].manager: Invalid value: "m\\n": invalid character U+000A',
    ],
  ],
];

describe("new metadata", () => {
  for (const [what, changes, expected] of table) {
    it(`with ${what} has ${expected.length} faults`, () => {
      const faults = faultsOf({ ...valid, ...changes });
      assert.equal(faults.length, expected.length, faults.join("\n"));
      for (const [index, beginning] of expected.entries()) {
        assert.equal(
          (faults[index] ?? "").slice(0, beginning.length),
          beginning.slice(0, (faults[index] ?? "").length),
        );
      }
    });
  }

  it("is validated only until 101 faults are found", () => {
    const labels = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`bad key ${index}`, "ok"]));
    assert.equal(firstFaults(() => validateObjectMeta({ ...valid, labels }, rules).whole).length, 101);
  });

  it("of a cluster-scoped kind has no namespace", () => {
    const [fault, ...others] = validateObjectMeta(valid, { ...rules, isNamespaced: false }).whole;
    assert.deepEqual([fault?.field, others.length], ["metadata.namespace", 0]);
  });

  it("of a kind that allows any name must still be valid in a path", () => {
    const general = (name: string) => validateObjectMeta({ ...valid, name }, rules).general();
    assert.deepEqual(general("Any:Name"), []);
    assert.equal(general("a/b")[0]?.message, "Invalid value: \"a/b\": may not contain '/'");
  });
});

describe("changed metadata", () => {
  const faultsOfUpdate = (next: ObjectMeta, previous: ObjectMeta) => {
    const { general, change, whole } = validateObjectMetaUpdate(next, { ...rules, previous });
    return [...general, ...change, ...whole];
  };
  const causesOf = (next: ObjectMeta, previous: ObjectMeta = valid): string[] =>
    faultsOfUpdate(next, previous).map(({ field }) => field);

  it("without a change has no fault", () => {
    assert.deepEqual(causesOf(valid), []);
  });

  it("cannot change its identity, with the same faults as upstream", () => {
    assert.deepEqual(causesOf({ ...valid, uid: "other" }), ["metadata.uid", "metadata.uid"]);
    assert.deepEqual(causesOf({ ...valid, name: "b" }), ["metadata.name", "metadata.name"]);
    assert.deepEqual(causesOf({ ...valid, deletionGracePeriodSeconds: 3 }), [
      "metadata.deletionGracePeriodSeconds",
      "metadata.deletionGracePeriodSeconds",
    ]);
  });

  it("names a bad label four times, as upstream does", () => {
    assert.deepEqual(causesOf({ ...valid, labels: { a: "not valid!" } }), Array(4).fill("metadata.labels"));
  });

  it("must have a resourceVersion", () => {
    const { resourceVersion: _, ...unversioned } = valid;
    assert.deepEqual(causesOf(unversioned), ["metadata.resourceVersion", "metadata.resourceVersion"]);
  });

  it("of an object that is being deleted cannot get a new finalizer", () => {
    const deleted = { ...valid, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/a"] };
    assert.deepEqual(causesOf({ ...deleted, finalizers: [] }, deleted), []);
    const [fault] = faultsOfUpdate({ ...deleted, finalizers: ["example.com/b"] }, deleted);
    assert.equal(
      fault?.message,
      'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
    );
  });
});
