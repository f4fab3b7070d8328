import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { updateObject } from "../../../../src/machinery/registry/writes/update-object.ts";
import type { StoredObject } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { toyBox, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

const where = { namespace: "box", name: "bear" };

/** Toys whose bytes count for a user, so that the cache reads the object of each write. */
const countedToys = { ...toys, quotaUserOf: ({ color = "" }: Toy) => color };

/** Creates a toy, breaks it, and returns both versions from the cache. */
async function brokenToy(): Promise<readonly [created: StoredObject<Toy>, broken: StoredObject<Toy>]> {
  const box = await toyBox({ definition: countedToys });
  const created = await box.add("bear", { color: "red", metadata: { labels: { sort: "plush" }, resourceVersion: "" } });
  return [created, await broken(box, created)];
}

async function broken({ registry, caller }: ToyBox, { object }: StoredObject<Toy>): Promise<StoredObject<Toy>> {
  const next = { ...object, state: "broken" };
  const authorizeCreate = async (): Promise<void> => {};
  await updateObject(registry, {
    ...where,
    object: next,
    subresource: "state",
    manager: "test",
    caller,
    authorizeCreate,
  });
  const cached = registry.peek(where);
  assert.ok(cached);
  return cached;
}

describe("the cached object of a write that counts for a user", () => {
  it("is what its text says, in the same order", async () => {
    for (const stored of await brokenToy()) {
      assert.deepStrictEqual(stored.object, JSON.parse(stored.text));
      assert.equal(JSON.stringify(stored.object), stored.text);
    }
  });

  it("is what its text says for a dry run, which has no resourceVersion", async () => {
    const { registry, dryCaller, decoded } = await toyBox({ definition: countedToys });
    const object = decoded({ metadata: { name: "bear" }, color: "red" });
    const stored = await createObject(registry, { object, namespace: "box", manager: "test", caller: dryCaller });
    assert.equal(JSON.stringify(stored.object), stored.text);
    assert.equal("resourceVersion" in stored.object.metadata, false);
  });

  it("shares with the version before it what the write has kept", async () => {
    const [{ object: before }, { object: after }] = await brokenToy();
    assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.equal(after.metadata.labels, before.metadata.labels);
  });
});
