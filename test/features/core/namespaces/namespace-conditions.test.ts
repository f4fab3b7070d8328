import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namespaceConditions } from "../../../../src/features/core/namespaces/namespace-conditions.ts";

const remaining = [
  { resource: "secrets.", count: 2, finalizers: new Map([["example.com/b", 1]]) },
  {
    resource: "leases.coordination.k8s.io",
    count: 1,
    finalizers: new Map([
      ["example.com/b", 1],
      ["example.com/a", 1],
    ]),
  },
];
const start = Date.parse("2026-03-04T05:06:07Z");

describe("the conditions of a namespace that is being emptied", () => {
  const first = namespaceConditions([], { remaining, failures: ["no", "also no"], now: start });
  const messageOf = (type: string): string | undefined => first.find((one) => one.type === type)?.message;

  it("name the remaining objects, the finalizers that keep them, and failed deletions", () => {
    assert.equal(
      messageOf("NamespaceContentRemaining"),
      "Some resources are remaining: leases.coordination.k8s.io has 1 resource instances, secrets. has 2 resource instances",
    );
    assert.equal(
      messageOf("NamespaceFinalizersRemaining"),
      "Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances, example.com/b in 2 resource instances",
    );
    assert.equal(
      messageOf("NamespaceDeletionContentFailure"),
      "Failed to delete all resource types, 2 remaining: also no, no",
    );
  });

  it("do not change while nothing happens, and keep others' conditions", () => {
    const progress = { remaining, failures: ["no", "also no"] };
    assert.equal(namespaceConditions(first, { ...progress, now: start + 5000 }), first);
    const other = { type: "Example", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const next = namespaceConditions([other, ...first], { remaining: [], failures: [], now: start + 5000 });
    assert.deepEqual(next[0], other);
    assert.equal(next.length, 6);
    assert.deepEqual(
      next.find(({ type }) => type === "NamespaceContentRemaining"),
      {
        type: "NamespaceContentRemaining",
        status: "False",
        lastTransitionTime: "2026-03-04T05:06:12Z",
        reason: "ContentRemoved",
        message: "All content successfully removed",
      },
    );
  });

  it("keep their time while only fewer objects remain", () => {
    const [secrets] = remaining;
    const next = namespaceConditions(first, { remaining: secrets ? [secrets] : [], failures: [], now: start + 5000 });
    assert.deepEqual(
      next.find(({ type }) => type === "NamespaceContentRemaining"),
      {
        type: "NamespaceContentRemaining",
        status: "True",
        lastTransitionTime: "2026-03-04T05:06:07Z",
        reason: "SomeResourcesRemain",
        message: "Some resources are remaining: secrets. has 2 resource instances",
      },
    );
  });

  it("have a limited length", () => {
    const many = Array.from({ length: 5000 }, (_, index) => [`example.com/${index}`, 1] as const);
    const remaining = [{ resource: "secrets.", count: 5000, finalizers: new Map(many) }];
    const [, , , , finalizers] = namespaceConditions([], { remaining, failures: [], now: start });
    assert.ok((finalizers?.message ?? "").length < 2000);
    assert.match(finalizers?.message ?? "", /and 4980 more$/);
  });
});
