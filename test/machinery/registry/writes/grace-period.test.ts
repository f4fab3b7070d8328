import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DeleteOptions } from "../../../../src/machinery/registry/writes/delete-options.ts";
import { deleteOptionsOfQuery } from "../../../../src/machinery/registry/writes/delete-options.ts";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { patchObject } from "../../../../src/machinery/registry/writes/patch-object.ts";
import { encodeStored } from "../../../../src/machinery/registry/stored/stored-object.ts";
import type { StoredObject } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { apiError, toyBox, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

const where = { namespace: "box", name: "bear" };
/** Its color says how many seconds a toy needs to end. */
const graceful = {
  ...toys,
  gracePeriodSeconds: ({ color = "0" }: Toy, requested: number | undefined) => requested ?? Number(color),
};
const box = async (color: string, metadata: object = {}): Promise<ToyBox> => {
  const made = await toyBox({ definition: graceful });
  await made.add("bear", { color, metadata: { generation: 1, ...metadata } });
  return made;
};
const remove = async ({ registry, caller }: ToyBox, sent: Partial<DeleteOptions> = {}) =>
  deleteObject(registry, { ...where, options: { isDryRun: false, ...sent }, caller });
const recolored = (toy: Toy): Toy => ({ ...toy, color: "00" });
const ends = ({ object: { metadata } }: StoredObject<Toy>) => [
  metadata.deletionTimestamp,
  metadata.deletionGracePeriodSeconds,
  metadata.generation,
  metadata.finalizers,
];

describe("a deletion with a grace period", () => {
  it("keeps the object until the period is over, as a new generation", async () => {
    const deletion = await remove(await box("30"));
    assert.equal(deletion.isRemoved, false);
    assert.deepEqual(ends(deletion.object), ["2026-01-02T03:04:35Z", 30, 2, undefined]);
  });

  it("writes that it is deleted before it removes the object, with a period of 0 as well", async () => {
    const made = await box("0");
    const created = made.registry.peek(where)?.revision ?? 0;
    const deletion = await remove(made);
    assert.equal(deletion.isRemoved, true);
    assert.deepEqual(ends(deletion.object), ["2026-01-02T03:04:05Z", 0, 2, undefined]);
    assert.equal(deletion.object.revision, created + 2);
  });

  it("shows in a dry run what it would say, and writes nothing", async () => {
    const made = await box("0");
    const deletion = await deleteObject(made.registry, {
      ...where,
      options: { isDryRun: true },
      caller: made.dryCaller,
    });
    assert.deepEqual(ends(deletion.object), ["2026-01-02T03:04:05Z", 0, 2, undefined]);
    assert.equal(made.registry.peek(where)?.object.metadata.deletionTimestamp, undefined);
  });

  it("is as it was when another deletion gives no less time, whatever that says of dependents", async () => {
    const made = await box("30", { finalizers: ["example.com/hold"] });
    const { object } = await remove(made);
    for (const sent of [{}, { gracePeriodSeconds: 30 }, { gracePeriodSeconds: 60 }]) {
      const again = await remove(made, { ...sent, propagationPolicy: "Orphan" });
      assert.deepEqual([again.isRemoved, again.object.revision], [false, object.revision]);
    }
  });

  it("can be shortened, also of an object that finalizers keep", async () => {
    const made = await box("30", { finalizers: ["example.com/hold"] });
    await remove(made);
    const shorter = await remove(made, { gracePeriodSeconds: 10 });
    assert.deepEqual(ends(shorter.object), ["2026-01-02T03:04:15Z", 10, 2, ["example.com/hold"]]);
    const over = await remove(made, { gracePeriodSeconds: 0, propagationPolicy: "Orphan" });
    assert.equal(over.isRemoved, false);
    assert.deepEqual(ends(over.object), ["2026-01-02T03:04:05Z", 0, 2, ["example.com/hold", "orphan"]]);
  });

  it("is shortened to what the client says, whatever time the kind would give by now", async () => {
    const stubborn = await toyBox({ definition: { ...graceful, gracePeriodSeconds: ({ color }) => Number(color) } });
    await stubborn.add("bear", { color: "30" });
    await remove(stubborn);
    const shorter = await remove(stubborn, { gracePeriodSeconds: 10 });
    assert.deepEqual(ends(shorter.object), ["2026-01-02T03:04:15Z", 10, undefined, undefined]);
  });

  it("outlasts the finalizers, and ends with them when it is over", async () => {
    const made = await box("30", { finalizers: ["example.com/hold"] });
    const release = () =>
      patchObject(made.registry, {
        ...where,
        type: "merge",
        text: '{"metadata":{"finalizers":null}}',
        options: { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false },
        subresource: "",
        manager: "test",
        caller: made.caller,
        authorizeCreate: () => assert.fail("the object exists"),
      });
    await remove(made);
    await release();
    assert.ok(made.registry.peek(where), "it has time left");
    await remove(made, { gracePeriodSeconds: 0 });
    assert.equal(made.registry.peek(where), undefined);
  });

  it("is a precondition's 409 only for what others wrote", async () => {
    const made = await box("0");
    await assert.rejects(remove(made, { resourceVersion: "1000" }), apiError(409));
    const { resourceVersion = "" } = made.registry.peek(where)?.object.metadata ?? {};
    assert.equal((await remove(made, { resourceVersion })).isRemoved, true);
  });

  it("succeeds when somebody who saw the mark was faster to remove the object", async () => {
    const made = await box("0");
    const write = made.store.write.bind(made.store);
    made.store.write = async (request) => {
      if (request.value === undefined) await write(request);
      return write(request);
    };
    const deletion = await remove(made);
    assert.equal(deletion.isRemoved, true);
    assert.deepEqual(ends(deletion.object), ["2026-01-02T03:04:05Z", 0, 2, undefined]);
    await assert.rejects(remove(made), apiError(404));
  });

  it("removes the object also when somebody changes it after the mark", async () => {
    const made = await box("0");
    const write = made.store.write.bind(made.store);
    let changes = 0;
    made.store.write = async (request) => {
      const marked = made.registry.peek(where);
      if (request.value === undefined && marked !== undefined && changes === 0) {
        changes += 1;
        await write({ ...request, value: encodeStored(recolored(marked.object)) });
      }
      return write(request);
    };
    const deletion = await remove(made);
    assert.deepEqual([deletion.isRemoved, changes, made.registry.peek(where)], [true, 1, undefined]);
  });

  it("is a second when the client asks for less than none", () => {
    assert.equal(deleteOptionsOfQuery("gracePeriodSeconds=-5").gracePeriodSeconds, 1);
  });
});
