import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { patchObject } from "../../../../src/machinery/registry/writes/patch-object.ts";
import { updateObject } from "../../../../src/machinery/registry/writes/update-object.ts";
import { encodeStored } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { apiError, toyBox, toyClock, toyRegistry, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

const where = { namespace: "box", name: "bear" };
const authorizeCreate = async (): Promise<void> => {};
const put = ({ registry, caller, decoded }: ToyBox, value: object, subresource = "") =>
  updateObject(registry, {
    object: decoded(value),
    ...where,
    subresource,
    manager: "test",
    caller,
    authorizeCreate,
  });
const options = { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false } as const;
const patch = ({ registry, caller }: ToyBox, text: string, more: object = {}) =>
  patchObject(registry, {
    type: "merge",
    text,
    options,
    ...where,
    subresource: "",
    manager: "test",
    caller,
    authorizeCreate,
    ...more,
  });
const remove = ({ registry, caller }: ToyBox, sent: object = {}) =>
  deleteObject(registry, { ...where, options: { isDryRun: false, ...sent }, caller });

/** A box of toys that a PUT creates. */
const creatingBox = () => toyBox({ definition: { ...toys, allowsCreateOnUpdate: true } });

/** Lets another writer be faster than the next write. */
function overtakeNextWrite({ store }: ToyBox, other: () => Promise<unknown>): void {
  const write = store.write.bind(store);
  store.write = async (request) => {
    store.write = write;
    await other();
    return write(request);
  };
}

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

describe("a patch", () => {
  it("is 404 for a missing object whatever its body", async () => {
    await assert.rejects(patch(await toyBox(), "{"), apiError(404));
  });

  it("cannot change the kind or give a field another type", async () => {
    const box = await toyBox();
    await box.add("bear");
    await assert.rejects(patch(box, '{"kind":"Other"}'), apiError(422));
    await assert.rejects(patch(box, '{"color":1}'), apiError(422));
  });

  it("warns of unknown and repeated fields, or refuses them", async () => {
    const box = await toyBox();
    await box.add("bear");
    await patch(box, '{"size":1,"metadata":{"labels":{"a":"1","a":"2"}}}');
    assert.deepEqual(box.warnings.toSorted(), ['duplicate field "metadata.labels.a"', 'unknown field "size"']);
    const strict = { options: { ...options, fieldValidation: "Strict" } };
    await assert.rejects(patch(box, '{"size":1}', strict), apiError(422, "strict decoding error"));
    const extra = '[{"op":"add","path":"/color","value":"red","extra":1}]';
    await assert.rejects(patch(box, extra, { ...strict, type: "json" }), apiError(422, "json patch unknown field"));
  });

  it("is refused in the words of a decoder only when its faults are reported", async () => {
    const box = await toyBox();
    await box.add("bear");
    const ignoring = { options: { ...options, fieldValidation: "Ignore" } };
    const cut = "unexpected end of JSON input";
    await assert.rejects(patch(box, "{"), apiError(400, `error decoding patch: ${cut}`));
    await assert.rejects(patch(box, "{", ignoring), { code: 400, message: "Invalid JSON Patch" });
    await assert.rejects(patch(box, "[", { ...ignoring, type: "json" }), { code: 400, message: cut });
    await assert.rejects(patch(box, "[]", ignoring), apiError(422));
  });

  it("warns of a member that the value of a JSON patch repeats in the patch, and where it is in the object", async () => {
    const box = await toyBox();
    await box.add("bear");
    const added = (path: string, value: string): string => `{"op":"add","path":"${path}","value":${value}}`;
    const labels = added("/metadata/labels", '{"a":"1","a":"2","b":"1"}');
    await patch(box, `[${labels},${added("/size", '[{"x":1,"x":2}]')}]`, { type: "json" });
    assert.deepEqual(box.warnings, [
      'json patch duplicate field "[0].value.a"',
      'json patch duplicate field "[1].value[0].x"',
      'duplicate field "metadata.labels.a"',
      'unknown field "size"',
    ]);
    box.warnings.length = 0;
    await patch(box, `[${labels},${added("/metadata/labels/c", '"1"')}]`, { type: "json" });
    assert.deepEqual(box.warnings, ['json patch duplicate field "[0].value.a"']);
  });

  it("has the last value of a member that occurs twice", async () => {
    const box = await toyBox();
    await box.add("bear");
    const { object } = await patch(box, '{"metadata":{"labels":{"a":"1"}},"metadata":{"labels":{"b":"1"}}}');
    assert.deepEqual(object.object.metadata.labels, { b: "1" });
  });

  it("reads a number as it is written: not every whole number is an integer", async () => {
    const box = await toyBox();
    await box.add("bear");
    const add = (value: string) => `{"op":"add","path":"/metadata/generation","value":${value}}`;
    for (const literal of ["600.0", "1e30", "-9223372036854775809"]) {
      const fault = apiError(422, `json: cannot unmarshal number ${literal} into Go struct field ObjectMeta.metadata`);
      await assert.rejects(patch(box, `{"metadata":{"generation":${literal}}}`), fault);
      await assert.rejects(patch(box, `[${add(literal)}]`, { type: "json" }), fault);
      await patch(box, `[${add(literal)},${add("2")}]`, { type: "json" });
      const label = '{"op":"add","path":"/metadata/labels","value":{}}';
      const all = `{"op":"add","path":"/metadata","value":{"name":"bear","generation":${literal}}}`;
      await assert.rejects(patch(box, `[${all},${label}]`, { type: "json" }), fault);
      for (const op of ["copy", "move"]) {
        const take = `{"op":"${op}","from":"/metadata/other","path":"/metadata/generation"}`;
        const other = `{"op":"add","path":"/metadata/other","value":${literal}}`;
        await assert.rejects(patch(box, `[${other},${take}]`, { type: "json" }), fault);
      }
    }
  });

  it("of type apply creates the object once its caller may create", async () => {
    const box = await toyBox();
    const text = JSON.stringify({ kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name: "bear" } });
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    const forbidden = { authorizeCreate: () => Promise.reject(new Error("no")) };
    await assert.rejects(patch(box, text, { ...apply, ...forbidden }), /no/);
    assert.equal((await patch(box, text, apply)).isCreated, true);
    await assert.rejects(patch(box, '{"kind":"Toy"}', apply), apiError(400, "invalid object type: /, Kind=Toy"));
    await assert.rejects(patch(await toyBox(), text, { ...apply, subresource: "state" }), apiError(404));
  });

  it("leaves out a field that another version of the server has stored, and tells only of its own unknown fields", async () => {
    const own = '{"color":"red","weight":1}';
    const configuration = `{"kind":"Toy","apiVersion":"toys.example.com/v1","metadata":{"name":"bear"},"color":"red"}`;
    for (const [type, text, unknown] of [
      ["apply", configuration],
      ["merge", '{"color":"red"}'],
      ["merge", own, 'strict decoding error: unknown field "weight"'],
      ["strategic-merge", '{"color":"red"}'],
      ["strategic-merge", own, 'strict decoding error: unknown field "weight"'],
      ["json", '[{"op":"add","path":"/color","value":"red"}]'],
    ] as const) {
      const box = await toyBox();
      const { key, object: bear, revision } = await box.add("bear");
      const value = encodeStored({ ...bear, size: 3 } as Toy);
      await box.store.write({ key, value, expectedRevision: revision, signal: box.caller.signal });
      const strict = { ...options, fieldValidation: "Strict", fieldManager: "m" };
      const patching = patch(box, text, { type, options: strict, manager: "m" });
      if (unknown !== undefined) {
        await assert.rejects(patching, apiError(422, unknown));
        continue;
      }
      const { object } = await patching;
      assert.deepEqual([object.object.color, "size" in object.object], ["red", false], type);
    }
  });

  it("of type apply changes the object that another writer has created meanwhile", async () => {
    const box = await toyBox();
    const toy = { kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name: "bear" }, color: "red" };
    const labels = { by: "other" };
    overtakeNextWrite(box, () => box.add("bear", { metadata: { labels } }));
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    const { object, isCreated } = await patch(box, JSON.stringify(toy), apply);
    assert.deepEqual([isCreated, object.object.color, object.object.metadata.labels], [false, "red", labels]);
  });

  it("of type apply without metadata takes the name away from a manager who applied metadata before", async () => {
    const box = await toyBox();
    const toy = { kind: "Toy", apiVersion: "toys.example.com/v1" };
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    await patch(box, JSON.stringify({ ...toy, metadata: { name: "bear", labels: { a: "b" } } }), apply);
    const nameless = "the name of the object (bear based on URL) was undeterminable: name must be provided";
    await assert.rejects(patch(box, JSON.stringify(toy), apply), apiError(400, nameless));
    await patch(box, JSON.stringify({ ...toy, metadata: {} }), apply);
    assert.equal(box.registry.peek(where)?.object.metadata.labels, undefined);
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
