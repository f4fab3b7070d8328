import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { withoutRepeatedOwners } from "../../../../src/machinery/registry/writes/owner-references.ts";

const owner = (name: string, uid = "u") => ({ apiVersion: "v1", kind: "Node", name, uid });
const owned = (references: readonly object[]): ApiObject =>
  ({ apiVersion: "v1", kind: "Any", metadata: { name: "a", ownerReferences: references } }) as ApiObject; // as decoded

describe("owner references", () => {
  it("are stored once each; two with one uid that differ are both stored", () => {
    const warnings: string[] = [];
    const check = { when: "as sent", caller: { warn: (warning: string) => void warnings.push(warning) } } as const;
    const kept = withoutRepeatedOwners(owned([owner("a"), owner("b"), owner("a")]), check);
    assert.deepEqual(kept.metadata.ownerReferences, [owner("a"), owner("b")]);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /duplicate UID\(s\) observed: u$/);
    const distinct = owned([owner("a"), { ...owner("a"), controller: true }]);
    assert.equal(withoutRepeatedOwners(distinct, check), distinct);
  });

  it("that are repeated thousands of times lead to one short warning", () => {
    const warnings: string[] = [];
    const references = Array.from({ length: 50_000 }, () => owner("a"));
    const check = { when: "as sent", caller: { warn: (warning: string) => void warnings.push(warning) } } as const;
    assert.deepEqual(withoutRepeatedOwners(owned(references), check).metadata.ownerReferences, [owner("a")]);
    assert.ok((warnings[0] ?? "").length < 500);
  });

  it("are compared in linear time, however many have one uid", () => {
    let reads = 0;
    const references = Array.from({ length: 2000 }, (_, index) => {
      const reference = { ...owner(`n${index}`) };
      Object.defineProperty(reference, "name", {
        enumerable: true,
        get: () => {
          reads += 1;
          return `n${index}`;
        },
      });
      return reference;
    });
    withoutRepeatedOwners(owned(references), { when: "as sent", caller: { warn: () => {} } });
    assert.ok(reads <= 2 * references.length, `${reads} reads`);
  });
});
