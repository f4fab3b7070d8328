import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { updateObject } from "../../../../src/machinery/registry/writes/update-object.ts";
import { apiError, toyBox, toyClock, toyRegistry, toys } from "../toy-resource.ts";
import type { ToyBox } from "../toy-resource.ts";
import { where, authorizeCreate, patch, remove, overtakeNextWrite } from "./written-box.ts";

const put = ({ registry, caller, decoded }: ToyBox, value: object, subresource = "") =>
  updateObject(registry, {
    object: decoded(value),
    ...where,
    subresource,
    manager: "test",
    caller,
    authorizeCreate,
  });

/** A box of toys that a PUT creates. */
const creatingBox = () => toyBox({ definition: { ...toys, allowsCreateOnUpdate: true } });

/** Lets another writer create the objects of the next creates first. Returns the names of these objects. */
function takeNames({ store }: ToyBox, count: number): readonly string[] {
  const write = store.write.bind(store);
  const names: string[] = [];
  store.write = async (request) => {
    if (names.length < count) {
      names.push(request.key.slice(request.key.lastIndexOf("/") + 1));
      await write(request);
    }
    return write(request);
  };
  return names;
}

describe("a create", () => {
  it("sets what the server owns and keeps what the client sent", async () => {
    const box = await toyBox();
    const { object, revision } = await box.add("bear", { color: "brown", metadata: { uid: "mine", generation: 4 } });
    assert.equal(object.color, "brown");
    assert.equal(object.metadata.namespace, "box");
    assert.equal(object.metadata.creationTimestamp, "2026-01-02T03:04:05Z");
    assert.equal(object.metadata.resourceVersion, String(revision));
    assert.equal(object.metadata.generation, 4);
    assert.notEqual(object.metadata.uid, "mine");
  });

  it("takes what is no resourceVersion for none, and refuses one", async () => {
    const box = await toyBox();
    const { revision } = await box.add("bear", { metadata: { resourceVersion: "abc" } });
    assert.equal(box.registry.peek(where)?.object.metadata.resourceVersion, String(revision));
    await assert.rejects(box.add("fox", { metadata: { resourceVersion: "5" } }), apiError(400, "should not be set"));
  });

  it("shows a dry run without a resourceVersion and stores nothing", async () => {
    const { registry, dryCaller, decoded } = await toyBox();
    const shown = await createObject(registry, {
      object: decoded({ metadata: { name: "bear" } }),
      namespace: "box",
      manager: "test",
      caller: dryCaller,
    });
    assert.equal(shown.object.metadata.resourceVersion, undefined);
    assert.equal(registry.peek(where), undefined);
  });

  it("reports every fault at once", async () => {
    const box = await toyBox();
    await assert.rejects(box.add("Bear", { color: "invisible" }), apiError(422, "color: Invalid value"));
    await assert.rejects(box.add("Bear", { color: "invisible" }), apiError(422, "metadata.name"));
  });

  it("refuses an existing name, and reports when that object is being deleted", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { finalizers: ["example.com/hold"] } });
    await assert.rejects(box.add("bear"), { code: 409, message: 'toys.toys.example.com "bear" already exists' });
    await remove(box);
    await assert.rejects(box.add("bear"), apiError(409, "object is being deleted: "));
  });

  it("tries seven other generated names when others have taken them, and then gives up", async () => {
    for (const taken of [0, 7, 8]) {
      const box = await toyBox();
      const { registry, caller, decoded } = box;
      const names = takeNames(box, taken);
      const creation = createObject(registry, {
        object: decoded({ metadata: { generateName: "bear-" } }),
        namespace: "box",
        manager: "test",
        caller,
      });
      if (taken === 8) {
        const words = "already exists, the server was not able to generate a unique name for the object";
        await assert.rejects(creation, apiError(409, words));
        await assert.rejects(creation, {
          details: { group: "toys.example.com", kind: "toys", name: names[7], retryAfterSeconds: 1 },
        });
      } else {
        const { name = "" } = (await creation).object.metadata;
        assert.match(name, /^bear-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        assert.ok(!names.includes(name));
      }
      assert.equal(new Set(names).size, taken);
    }
  });

  it("tries no other generated name when something else is wrong", async () => {
    const box = await toyBox();
    const invalid = box.add("", { metadata: { generateName: "bear-" }, color: "invisible" });
    await assert.rejects(invalid, (error: Error) => !error.message.includes("unique name"));
  });

  it("runs admission before and after validation", async () => {
    const seen: string[] = [];
    const box = await toyBox({
      admission: [
        {
          name: "Painter",
          admit: ({ object }) => {
            seen.push("admit");
            return { ...(object as ApiObject), color: "red" } as ApiObject;
          },
          validate: ({ object, name }) => void seen.push(`validate ${name} ${(object as { color?: string }).color}`),
        },
      ],
    });
    assert.equal((await box.add("bear")).object.color, "red");
    assert.deepEqual(seen, ["admit", "validate bear red"]);
  });

  it("returns the kind's warnings", async () => {
    const box = await toyBox();
    await box.add("bear", { color: "beige" });
    assert.deepEqual(box.warnings, ["color: beige is dull"]);
  });
});

describe("an update", () => {
  it("keeps what clients cannot change and what belongs to a subresource", async () => {
    const box = await toyBox();
    const created = await box.add("bear");
    await put(box, { metadata: { name: "bear" }, state: "broken" }, "state");
    const { object } = await put(box, { metadata: { name: "bear", creationTimestamp: null }, color: "red" });
    assert.equal(object.object.color, "red");
    assert.equal(object.object.state, "broken");
    assert.equal(object.object.metadata.uid, created.object.metadata.uid);
    assert.equal(object.object.metadata.creationTimestamp, "2026-01-02T03:04:05Z");
  });

  it("that changes nothing keeps the resourceVersion", async () => {
    const box = await toyBox();
    const { revision } = await box.add("bear", { color: "red" });
    const { object } = await put(box, { metadata: { name: "bear" }, color: "red" });
    assert.equal(object.revision, revision);
  });

  it("of an older version is a conflict", async () => {
    const box = await toyBox();
    const { revision } = await box.add("bear");
    await put(box, { metadata: { name: "bear" }, color: "red" });
    const stale = put(box, { metadata: { name: "bear", resourceVersion: String(revision) }, color: "blue" });
    await assert.rejects(stale, apiError(409, "the object has been modified"));
  });

  it("of another uid is a conflict, with a garbage version a 400, with another name or namespace a 400", async () => {
    const box = await toyBox();
    await box.add("bear");
    await assert.rejects(put(box, { metadata: { name: "bear", uid: "other" } }), apiError(409, "Precondition failed"));
    await assert.rejects(
      put(box, { metadata: { name: "bear", resourceVersion: "abc" } }),
      apiError(400, "resourceVersion"),
    );
    await assert.rejects(put(box, { metadata: { name: "wolf" } }), apiError(400, "does not match the name"));
    await assert.rejects(put(box, { metadata: { name: "bear", namespace: "den" } }), apiError(400, "namespace"));
  });

  it("must name a resourceVersion where the kind requires it", async () => {
    const box = await toyBox({ definition: { ...toys, allowsUnconditionalUpdate: false } });
    await box.add("bear");
    await assert.rejects(put(box, { metadata: { name: "bear" } }), apiError(422, "must be specified for an update"));
  });

  it("creates the object where the kind allows it", async () => {
    const refusing = await toyBox();
    await assert.rejects(put(refusing, { metadata: { name: "bear" } }), apiError(404));
    const box = await creatingBox();
    assert.equal((await put(box, { metadata: { name: "bear" } })).isCreated, true);
    await assert.rejects(put(await creatingBox(), { metadata: { name: "bear" } }, "state"), apiError(404));
  });

  it("changes the object that another writer has created meanwhile", async () => {
    const box = await creatingBox();
    overtakeNextWrite(box, () => box.add("bear", { color: "blue", metadata: { labels: { by: "other" } } }));
    const { object, isCreated } = await put(box, { metadata: { name: "bear" }, color: "red" });
    assert.deepEqual([isCreated, object.object.color, object.object.metadata.labels], [false, "red", undefined]);
    assert.equal(box.registry.peek(where)?.object.color, "red");
  });

  it("that creates the object does not create it as one that is being deleted", async () => {
    const box = await toyBox({ definition: { ...toys, allowsCreateOnUpdate: true } });
    const late = { name: "bear", deletionTimestamp: "2026-01-02T03:04:05Z", deletionGracePeriodSeconds: 0 };
    const { metadata } = (await put(box, { metadata: late })).object.object;
    assert.deepEqual([metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds], [undefined, undefined]);
  });

  it("is retried when another writer was faster", async () => {
    const box = await toyBox();
    await box.add("bear", { metadata: { labels: { start: "1" } } });
    const labels = Array.from({ length: 20 }, (_, index) => `l${index}`);
    await Promise.all(labels.map((label) => patch(box, JSON.stringify({ metadata: { labels: { [label]: "1" } } }))));
    const stored = await box.registry.get(where);
    assert.deepEqual(Object.keys(stored.object.metadata.labels ?? {}).sort(), [...labels, "start"].sort());
  });
});

describe("an object that is too large", () => {
  it("is refused, unless it was stored under a larger limit and is made smaller", async () => {
    const box = await toyBox();
    const sized = (name: string, letter: string, count: number) => ({
      metadata: { name, annotations: { text: letter.repeat(count) } },
    });
    await box.add("bear", sized("bear", "x", 1000));
    const registry = toyRegistry({ store: box.store, clock: toyClock, maximumObjectBytes: 800 });
    await registry.start();
    const limited = { ...box, registry };
    const creation = { object: box.decoded(sized("fox", "x", 800)), ...{ namespace: "box", manager: "test" } };
    await assert.rejects(createObject(registry, { ...creation, caller: box.caller }), apiError(413, "make it smaller"));
    for (const count of [1001, 1000]) {
      await assert.rejects(put(limited, sized("bear", "y", count)), apiError(413, "make it smaller"));
    }
    const { object } = await put(limited, sized("bear", "y", 999));
    assert.equal(object.object.metadata.annotations?.["text"]?.length, 999);
  });
});

describe("a change", () => {
  for (const [title, change] of [
    ["update", (box: ToyBox) => put(box, { metadata: { name: "bear" }, color: "red" })],
    ["patch", (box: ToyBox) => patch(box, '{"color":"red"}')],
    ["deletion", (box: ToyBox) => remove(box)],
    [
      "marking of a deletion",
      (box: ToyBox) =>
        deleteObject(box.registry, {
          ...where,
          options: { isDryRun: false },
          caller: box.caller,
          mark: (toy) => ({ ...toy, state: "broken" }),
        }),
    ],
  ] as const) {
    it(`such as the ${title} of an object ends with a conflict when others change the object before each attempt`, async () => {
      const box = await toyBox();
      const { store } = box;
      await box.add("bear");
      const write = store.write.bind(store);
      let others = 0;
      const busy: typeof write = async (request) => {
        store.write = write;
        await patch(box, `{"metadata":{"labels":{"others":"${++others}"}}}`);
        store.write = busy;
        return write(request);
      };
      store.write = busy;
      await assert.rejects(change(box), apiError(409, "others change the object all the time"));
      assert.equal(others, 256);
    });
  }
});

describe("names with slashes", () => {
  it("find no object, wherever namespace and name are split", async () => {
    const box = await toyBox();
    await box.add("bear");
    for (const [namespace, name] of [
      ["", "box/bear"],
      ["box/bear", ""],
      ["b", "ox/bear"],
      ["box", "../box/bear"],
    ] as const) {
      assert.equal(box.registry.peek({ namespace, name }), undefined);
      assert.throws(() => box.registry.get({ namespace, name }), apiError(404));
    }
  });
});
