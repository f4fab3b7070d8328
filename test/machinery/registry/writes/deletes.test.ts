import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { apiError, toyBox, toys } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";
import { where, patch, remove, overtakeNextWrite } from "./written-box.ts";

describe("a delete", () => {
  it("answers the last state with the version of the deletion", async () => {
    const box = await toyBox();
    const created = await box.add("bear");
    const { isRemoved, object } = await remove(box);
    assert.equal(isRemoved, true);
    assert.equal(object.object.metadata.uid, created.object.metadata.uid);
    assert.ok(object.revision > created.revision);
    await assert.rejects(remove(box), apiError(404));
  });

  it("is 404 when somebody else is faster to remove the object", async () => {
    const box = await toyBox();
    await box.add("bear");
    const write = box.store.write.bind(box.store);
    box.store.write = async (request) => {
      await write(request);
      return write(request);
    };
    await assert.rejects(remove(box), apiError(404));
  });

  it("is done when somebody removes the object that it has marked before it removes it", async () => {
    const box = await toyBox({ definition: { ...toys, gracePeriodSeconds: () => 0 } });
    const { object } = await box.add("bear");
    const write = box.store.write.bind(box.store);
    box.store.write = async (request) => {
      if (request.value === undefined) await write(request);
      return write(request);
    };
    const removed = await remove(box);
    assert.deepEqual([removed.isRemoved, removed.object.object.metadata.uid], [true, object.metadata.uid]);
    assert.notEqual(removed.object.object.metadata.deletionTimestamp, undefined);
  });

  it("removes or marks what another writer has made of the object meanwhile", async () => {
    const box = await toyBox();
    const paint = () => patch(box, '{"color":"red"}');
    await box.add("bear");
    overtakeNextWrite(box, paint);
    const removed = await remove(box);
    assert.deepEqual([removed.isRemoved, removed.object.object.color], [true, "red"]);
    await box.add("bear", { metadata: { finalizers: ["example.com/hold"] } });
    overtakeNextWrite(box, paint);
    const marked = await remove(box);
    assert.deepEqual([marked.isRemoved, marked.object.object.color], [false, "red"]);
    const stored = box.registry.peek(where)?.object;
    assert.deepEqual([stored?.color, stored?.metadata.deletionTimestamp], ["red", "2026-01-02T03:04:05Z"]);
  });

  it("waits for a finalizer that another writer has added meanwhile", async () => {
    const box = await toyBox();
    await box.add("bear");
    overtakeNextWrite(box, () => patch(box, '{"metadata":{"finalizers":["example.com/hold"]}}'));
    assert.equal((await remove(box)).isRemoved, false);
    assert.notEqual(box.registry.peek(where)?.object.metadata.deletionTimestamp, undefined);
  });

  it("of one version does not remove another, which another writer has made meanwhile", async () => {
    const box = await toyBox();
    const { resourceVersion } = await box.add("bear");
    overtakeNextWrite(box, () => patch(box, '{"color":"red"}'));
    await assert.rejects(remove(box, { resourceVersion }), apiError(409, "the ResourceVersion in the precondition"));
    assert.equal(box.registry.peek(where)?.object.metadata.deletionTimestamp, undefined);
  });

  it("with a mark keeps what another writer has changed meanwhile", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { finalizers: ["example.com/hold"] } });
    overtakeNextWrite(box, () => patch(box, '{"color":"red"}'));
    const mark = (toy: Toy): Toy => ({ ...toy, state: "broken" });
    await deleteObject(box.registry, { ...where, options: { isDryRun: false }, caller: box.caller, mark });
    const { color, state, metadata } = (await box.registry.get(where)).object;
    assert.deepEqual([color, state, metadata.deletionTimestamp], ["red", "broken", "2026-01-02T03:04:05Z"]);
  });

  it("ends with the update that removes the last finalizer, also where another writer was faster", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { finalizers: ["example.com/hold"] } });
    await remove(box);
    overtakeNextWrite(box, () => patch(box, '{"color":"red"}'));
    const { object } = await patch(box, '{"metadata":{"finalizers":null}}');
    assert.equal(object.object.color, "red");
    assert.equal(box.registry.peek(where), undefined);
  });

  it("checks its preconditions", async () => {
    const box = await toyBox();
    const { object } = await box.add("bear");
    await assert.rejects(remove(box, { uid: "other" }), apiError(409, "the UID in the precondition (other)"));
    await assert.rejects(
      remove(box, { resourceVersion: "1" }),
      apiError(409, "the ResourceVersion in the precondition"),
    );
    const { uid = "", resourceVersion = "" } = object.metadata;
    assert.equal((await remove(box, { uid, resourceVersion })).isRemoved, true);
  });

  it("asks admission once there is an object, and its preconditions hold", async () => {
    const seen: unknown[] = [];
    const box = await toyBox({
      admission: [
        {
          name: "Guard",
          admit({ operation, oldObject }) {
            if (operation === "DELETE") seen.push(oldObject?.metadata.name);
            return undefined;
          },
        },
      ],
    });
    await assert.rejects(remove(box), apiError(404));
    await box.add("bear");
    await assert.rejects(remove(box, { uid: "other" }), apiError(409));
    assert.deepEqual(seen, []);
    await remove(box);
    assert.deepEqual(seen, ["bear"]);
  });

  it("waits for finalizers; the update that removes the last one removes the object", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { finalizers: ["example.com/hold"] } });
    const { isRemoved, object } = await remove(box);
    assert.equal(isRemoved, false);
    assert.equal(object.object.metadata.deletionTimestamp, "2026-01-02T03:04:05Z");
    assert.equal((await remove(box)).object.revision, object.revision, "a second delete changes nothing");
    const adding = patch(box, '{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}');
    await assert.rejects(adding, apiError(422, "no new finalizers"));
    const { object: last } = await patch(box, '{"metadata":{"finalizers":null}}');
    assert.equal(last.object.metadata.deletionTimestamp, "2026-01-02T03:04:05Z");
    assert.equal(last.revision, object.revision, "that of the version that was changed");
    assert.equal(box.registry.peek(where), undefined);
  });

  it("that only marks an object ends with an update that changes nothing", async () => {
    const box = await toyBox({
      definition: {
        ...toys,
        prepareForDelete: (toy) =>
          toy.metadata.deletionTimestamp === undefined
            ? { ...toy, metadata: { ...toy.metadata, deletionTimestamp: "2026-01-02T03:04:05Z" } }
            : undefined,
      },
    });
    await box.add("bear");
    assert.equal((await remove(box)).isRemoved, false);
    await patch(box, "{}");
    assert.equal(box.registry.peek(where), undefined);
  });

  it("adds a finalizer for the garbage collector according to the policy", async () => {
    const box = await toyBox();
    await box.add("bear");
    const { object } = await remove(box, { propagationPolicy: "Foreground" });
    assert.deepEqual(object.object.metadata.finalizers, ["foregroundDeletion"]);
    const { object: orphaning } = await remove(box, { propagationPolicy: "Orphan" });
    assert.deepEqual(orphaning.object.metadata.finalizers, ["orphan"]);
    assert.equal((await remove(box, { propagationPolicy: "Background" })).isRemoved, true);
  });

  it("repeated with the same policy changes nothing", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { finalizers: ["foregroundDeletion", "example.com/mine"] } });
    const { object: marked } = await remove(box, { propagationPolicy: "Foreground" });
    assert.deepEqual(marked.object.metadata.finalizers, ["foregroundDeletion", "example.com/mine"]);
    const { object: again } = await remove(box, { propagationPolicy: "Foreground" });
    assert.equal(again.revision, marked.revision);
  });

  it("of a dry run removes nothing", async () => {
    const box = await toyBox();
    await box.add("bear");
    await deleteObject(box.registry, { ...where, options: { isDryRun: true }, caller: box.dryCaller });
    assert.notEqual(box.registry.peek(where), undefined);
  });
});
