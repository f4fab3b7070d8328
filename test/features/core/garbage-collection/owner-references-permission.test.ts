import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ownerReferencesPermission } from "../../../../src/features/core/garbage-collection/owner-references-permission.ts";
import { allowing, apiObject, refusalOf } from "../../admission-scene.ts";

const owner = { apiVersion: "v1", kind: "Secret", name: "s", uid: "u" };
const owned = (...ownerReferences: object[]) => apiObject({ metadata: { name: "a", ownerReferences } });

const write = (
  { next, old }: { next: ReturnType<typeof owned>; old?: ReturnType<typeof owned> },
  ...grants: string[]
) =>
  refusalOf(
    ownerReferencesPermission({
      authorize: allowing(...grants),
      findResource: ({ kind }) =>
        kind === "Secret" ? { group: "", resource: "secrets", isNamespaced: true } : undefined,
    }),
    { operation: old === undefined ? "CREATE" : "UPDATE", object: next, ...(old !== undefined && { oldObject: old }) },
  );

describe("an owner reference", () => {
  it("may be set on a new object, and changed by users who may delete the object", async () => {
    assert.equal(await write({ next: owned(owner) }), undefined);
    assert.equal(await write({ next: owned(owner), old: owned() }, "delete configmaps a"), undefined);
    assert.equal(
      await write({ next: owned(owner), old: owned() }),
      `403 configmaps "a" is forbidden: cannot set an ownerRef on a resource you can't delete: no rule, <nil>`,
    );
    assert.equal(await write({ next: owned(owner), old: owned(owner) }), undefined);
  });

  it("blocks its owner's deletion only for users who may set the owner's finalizers", async () => {
    const next = owned({ ...owner, blockOwnerDeletion: true });
    assert.match((await write({ next })) ?? "", /a resource you can't set finalizers on: no rule, <nil>$/);
    assert.equal(await write({ next }, "update secrets/finalizers s"), undefined);
    assert.equal(await write({ next }, "update */finalizers *"), undefined);
    const unknown = owned({ ...owner, kind: "Nothing", blockOwnerDeletion: true });
    assert.match((await write({ next: unknown })) ?? "", /cannot find RESTMapping for APIVersion v1 Kind Nothing/);
  });
});
