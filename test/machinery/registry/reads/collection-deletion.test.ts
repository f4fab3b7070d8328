import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { deleteCollection } from "../../../../src/machinery/registry/writes/delete-collection.ts";
import { badRequest, unauthorized } from "../../../../src/machinery/api/api-error.ts";
import type { AdmissionRule } from "../../../../src/machinery/api/attributes.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { apiError, toyBox } from "../toy-resource.ts";
import { options, list, names, remove, filled } from "./filled-box.ts";

describe("a deletion of a collection", () => {
  const refuseRevoked = (): void => {};

  it("deletes only selected objects", async () => {
    const box = await filled(130);
    const { registry, caller } = box;
    const selected = options("fieldSelector=color%3Dred");
    await deleteCollection(registry, { list: selected, options: { isDryRun: false }, caller, refuseRevoked });
    assert.equal((await list(box)).items.length, 65);
  });

  it("looks at the objects in turns, and spares those that come meanwhile", async (t) => {
    const box = await filled(30);
    const { registry, caller } = box;
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each object takes a turn
    const turns = await turnsDuring(async () => {
      const deleting = deleteCollection(registry, {
        list: options(""),
        options: { isDryRun: false },
        caller,
        refuseRevoked,
      });
      await nextTurn();
      await box.add("late");
      await deleting;
    });
    assert.ok(turns >= 30, String(turns));
    assert.deepEqual(await names(box), ["late"]);
  });

  it("ends at the first that must not be deleted: those before it are gone, and those after it stay", async () => {
    const keeper: AdmissionRule = {
      name: "Keeper",
      validate({ operation, name }) {
        if (operation === "DELETE" && name === "toy-1") throw badRequest("toy-1 is kept");
      },
    };
    const box = await toyBox({ admission: [keeper] });
    for (const name of ["toy-0", "toy-1", "toy-2"]) await box.add(name);
    const { registry, caller } = box;
    const deleting = deleteCollection(registry, {
      list: options(""),
      options: { isDryRun: false },
      caller,
      refuseRevoked,
    });
    await assert.rejects(deleting, apiError(400, "toy-1 is kept"));
    assert.deepEqual(await names(box), ["toy-1", "toy-2"]);
  });

  it("ends when the credential of its sender is revoked: the objects that are left stay", async () => {
    const box = await filled(130);
    const { registry, caller } = box;
    let looks = 0;
    const deleting = deleteCollection(registry, {
      list: options(""),
      options: { isDryRun: false },
      caller,
      refuseRevoked() {
        looks += 1;
        if (looks === 2) throw unauthorized();
      },
    });
    await assert.rejects(deleting, apiError(401, "Unauthorized"));
    assert.equal((await list(box)).items.length, 130 - 64);
  });

  it("of a dry run ends when its sender waits no more, as a write does by itself", async () => {
    const { registry, dryCaller } = await filled(130);
    const gone = new AbortController();
    let looks = 0;
    const deleting = deleteCollection(registry, {
      list: options(""),
      options: { isDryRun: true },
      caller: { ...dryCaller, signal: gone.signal },
      refuseRevoked() {
        looks += 1;
        gone.abort();
      },
    });
    await assert.rejects(deleting, apiError(504));
    assert.equal(looks, 1);
  });

  it("deletes the others when some are gone already", async () => {
    const box = await filled(3);
    const { registry, caller } = box;
    const { resourceVersion } = await list(box);
    await remove(box, "toy-0");
    const { items } = await deleteCollection(registry, {
      list: options(`resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`),
      options: { isDryRun: false },
      caller,
      refuseRevoked,
    });
    assert.equal(items.length, 3);
    assert.deepEqual(await names(box), []);
  });

  it("deletes nothing when one of the objects cannot be read", async () => {
    const box = await filled(3);
    const { registry, store, caller } = box;
    const { key } = registry.peek({ namespace: "box", name: "toy-2" }) ?? assert.fail("there are three");
    const damaged = {
      key: `${key}-damaged`,
      value: Buffer.from("damaged"),
      expectedRevision: 0,
      signal: caller.signal,
    };
    await store.write(damaged);
    const deleting = deleteCollection(registry, {
      list: options(""),
      options: { isDryRun: false },
      caller,
      refuseRevoked,
    });
    await assert.rejects(deleting, apiError(500, "toy-2-damaged"));
    assert.equal((await list(box)).items.length, 4);
  });

  it("deletes nothing when the first has another uid than the precondition", async () => {
    const box = await filled(3);
    const { registry, caller } = box;
    const { uid = "" } = registry.peek({ namespace: "box", name: "toy-1" })?.object.metadata ?? {};
    const deleting = deleteCollection(registry, {
      list: options(""),
      options: { isDryRun: false, uid },
      caller,
      refuseRevoked,
    });
    await assert.rejects(deleting, apiError(409, "the UID in the precondition"));
    assert.equal((await list(box)).items.length, 3);
  });
});
