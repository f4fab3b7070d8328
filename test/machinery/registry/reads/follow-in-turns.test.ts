import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TestContext } from "node:test";
import { serviceUnavailable } from "../../../../src/machinery/api/api-error.ts";
import { followInTurns } from "../../../../src/machinery/registry/reads/follow-in-turns.ts";
import type { StoredObject } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { takeTurnForEachLook } from "../../../turns-during.ts";
import { ForgetfulStore } from "../forgetful-store.ts";
import { toyBox } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";

/** The names of the toys in a box, which are read one in a turn. Names that are `broken` cannot be read. */
async function scene(context: TestContext, names: readonly string[]) {
  const store = new ForgetfulStore();
  const box = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  for (const name of names) await box.add(name);
  takeTurnForEachLook(context);
  const known: string[] = [];
  const broken = new Set<string>();
  const nameOf = ({ object }: StoredObject<Toy>): string => object.metadata.name ?? "";
  const ready = followInTurns(box.registry, {
    clear: () => void known.splice(0),
    add(stored) {
      if (broken.has(nameOf(stored))) throw serviceUnavailable("not now");
      known.push(nameOf(stored));
    },
    remove: (stored) => void known.splice(0, known.length, ...known.filter((name) => name !== nameOf(stored))),
  });
  const remove = async (name: string): Promise<void> => {
    const { key, revision } = box.registry.peek({ namespace: "box", name }) ?? assert.fail(name);
    await store.write({ key, value: undefined, expectedRevision: revision });
  };
  return { ...box, store, known, broken, ready, remove };
}

describe("what is derived of objects that are read in turns", () => {
  it("has each of them once, as they are written and deleted meanwhile and later", async (context) => {
    const { add, remove, known, ready } = await scene(context, ["ant", "bee", "cow", "dog"]);
    assert.deepEqual(known, ["ant"]);
    await remove("bee");
    await remove("cow");
    await add("cow");
    await add("eel");
    await ready();
    assert.deepEqual(known.toSorted(), ["ant", "cow", "dog", "eel"]);
    await remove("ant");
    await add("bee");
    assert.deepEqual(known.toSorted(), ["bee", "cow", "dog", "eel"]);
  });

  it("is not there while one of them cannot be read, and nothing is read again for those who ask", async (context) => {
    const { known, broken, ready } = await scene(context, ["ant", "bee", "cow"]);
    broken.add("cow");
    await assert.rejects(ready(), /not now/);
    broken.clear();
    await assert.rejects(ready(), /not now/);
    assert.deepEqual(known, ["ant", "bee"]);
  });

  it("is made anew when the cache had to load again while they were read", async (context) => {
    const { registry, store, add, known, ready } = await scene(context, ["ant", "bee", "cow"]);
    const { key } = registry.peek({ namespace: "box", name: "bee" }) ?? assert.fail();
    store.unreadable.add(key);
    const reload = async (added: string): Promise<void> => {
      await store.forget(async () => void (await add(added)));
      await registry.waitForFreshCache();
    };
    await reload("dog");
    await assert.rejects(ready(), /unable to transform key/);
    store.unreadable.clear();
    await reload("eel");
    await ready();
    assert.deepEqual(known.toSorted(), ["ant", "bee", "cow", "dog", "eel"]);
  });

  it("is read no longer by an earlier reading once the cache had to load again", async (context) => {
    const names = Array.from({ length: 100 }, (_, index) => `toy-${index}`);
    const { registry, store, add, known, ready } = await scene(context, names);
    const { key } = registry.peek({ namespace: "box", name: "toy-0" }) ?? assert.fail();
    store.unreadable.add(key);
    await store.forget(async () => void (await add("new-toy")));
    await registry.waitForFreshCache();
    assert.ok(known.length < names.length, "the earlier reading has not ended");
    await assert.rejects(ready(), /unable to transform key/);
    for (let turn = 0; turn < names.length; turn++) await nextTurn();
    assert.deepEqual(known, ["new-toy"]);
  });
});
