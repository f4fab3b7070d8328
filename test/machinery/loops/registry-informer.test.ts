import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeStored } from "../../../src/machinery/registry/stored/stored-object.ts";
import { StoredTexts } from "../../../src/machinery/registry/stored/stored-texts.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";
import type { InformerHandler } from "../../../src/machinery/loops/informer.ts";
import { RegistryInformer } from "../../../src/machinery/loops/registry-informer.ts";
import { ForgetfulStore } from "../registry/forgetful-store.ts";
import { toyRegistry } from "../registry/toy-resource.ts";
import type { Toy } from "../registry/toy-resource.ts";

const keyOf = (name: string): string => `/registry/toys.toys.example.com/box/${name}`;

interface ToyFields {
  readonly color?: string;
  readonly uid?: string;
  readonly metadata?: object;
}

class Fixture {
  readonly store = new ForgetfulStore();
  readonly registry = toyRegistry({
    store: this.store,
    feed: new ChangeFeed({ store: this.store, replayLength: 0 }),
    texts: new StoredTexts({ valueAt: ({ revision }) => this.store.textAt(revision), maximumCharacters: 0 }),
  });
  readonly errors: unknown[] = [];
  readonly informer = new RegistryInformer(this.registry, { onError: (error) => void this.errors.push(error) });
  readonly heard: string[] = [];
  readonly #stopping = new AbortController();

  /** Handles events by noting them. */
  handler(more: Pick<InformerHandler<Toy>, "fields" | "isInterested"> = {}): InformerHandler<Toy> {
    const shown = ({ metadata, color }: Toy): string => `${metadata.name}:${color}`;
    return {
      ...more,
      onAdd: (toy) => void this.heard.push(`add ${shown(toy)}`),
      onUpdate: (toy, previous) => void this.heard.push(`update ${shown(previous)} ${shown(toy)}`),
      onDelete: (toy) => void this.heard.push(`delete ${shown(toy)}`),
    };
  }

  async put(name: string, { color = "red", uid = name, metadata = {} }: ToyFields = {}): Promise<void> {
    const managedFields = [{ manager: "m", operation: "Update", fieldsType: "FieldsV1", fieldsV1: { "f:color": {} } }];
    const toy = { metadata: { name, namespace: "box", uid, managedFields, ...metadata }, color };
    await this.#write(name, encodeStored(toy as unknown as Toy)); // of the form that decoding gives
  }

  delete(name: string): Promise<void> {
    return this.#write(name, undefined);
  }

  damage(name: string): Promise<void> {
    return this.#write(name, Buffer.from('{"metadata":{"name":'));
  }

  async #write(name: string, value: Buffer | undefined): Promise<void> {
    const { entries } = await this.store.range({ start: keyOf(name), end: `${keyOf(name)}\0` });
    const expectedRevision = entries[0]?.modRevision ?? 0;
    const written = await this.store.write({ key: keyOf(name), value, expectedRevision });
    assert.ok(written.isWritten);
    if (value !== undefined) this.store.kept.set(written.revision, value);
  }

  async start(): Promise<void> {
    await this.registry.start();
    await this.informer.start(this.#stopping.signal);
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** What was heard until now, once everything is written to the copy in memory and told. */
  async news(): Promise<string[]> {
    await this.registry.waitForFreshCache();
    // Between two changes may be a pause, on a machine that is busy.
    for (let known = -1, quiet = 0; quiet < 5; quiet = known === this.heard.length ? quiet + 1 : 0) {
      known = this.heard.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return this.heard.splice(0);
  }
}

describe("an informer in the server's process", () => {
  it("reports the existing objects, and then every change in order", async () => {
    const fixture = new Fixture();
    await fixture.put("car");
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    assert.deepEqual(await fixture.news(), ["add car:red"]);
    await fixture.put("car", { color: "blue" });
    await fixture.put("ball");
    await fixture.delete("car");
    assert.deepEqual(await fixture.news(), ["update car:red car:blue", "add ball:red", "delete car:blue"]);
    fixture.stop();
    await fixture.put("bear");
    assert.deepEqual(await fixture.news(), []);
  });

  it("shows the objects as they are now, without managedFields", async () => {
    const fixture = new Fixture();
    await fixture.put("car");
    await fixture.start();
    await fixture.put("ball");
    await fixture.registry.waitForFreshCache();
    const names = [...fixture.informer.list()].map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ["ball", "car"]);
    const { metadata } = fixture.informer.get("box/ball") ?? {};
    assert.equal(metadata?.namespace, "box");
    assert.ok(metadata !== undefined && !("managedFields" in metadata));
    assert.equal(fixture.informer.get("box/bear"), undefined);
    fixture.stop();
  });

  it("parses no object for a handler of fields that the object does not have", async (context) => {
    const fixture = new Fixture();
    const ownerReferences = [{ apiVersion: "v1", kind: "Toy", name: "box", uid: "1" }];
    for (let n = 0; n < 100; n += 1) await fixture.put(`car-${n}`, { color: '"ownerReferences":' });
    await fixture.put("wheel", { metadata: { ownerReferences } });
    fixture.informer.addHandler(fixture.handler({ fields: ["ownerReferences"] }));
    const parse = context.mock.method(JSON, "parse");
    await fixture.start();
    assert.deepEqual(await fixture.news(), ["add wheel:red"]);
    assert.equal(parse.mock.callCount(), 1);
    await fixture.put("car-1", { color: "blue" });
    await fixture.put("wheel", { color: "blue" });
    await fixture.put("wheel", { color: "green" });
    await fixture.delete("car-1");
    const expected = ["update wheel:red wheel:blue", "delete car-1:blue"];
    assert.deepEqual(await fixture.news(), expected);
    fixture.stop();
  });

  it("parses no object for a handler that is not interested, and reports changes to it once it is", async (context) => {
    const fixture = new Fixture();
    for (let n = 0; n < 100; n += 1) await fixture.put(`car-${n}`);
    let isInterested = false;
    fixture.informer.addHandler(fixture.handler({ isInterested: () => isInterested }));
    const parse = context.mock.method(JSON, "parse");
    await fixture.start();
    assert.deepEqual(await fixture.news(), []);
    assert.equal(parse.mock.callCount(), 0);
    isInterested = true;
    await fixture.put("ball");
    assert.deepEqual(await fixture.news(), ["add ball:red"]);
    fixture.stop();
  });

  it("reads a version once for all handlers", async () => {
    const fixture = new Fixture();
    await fixture.put("car");
    const seen: Toy[] = [];
    const see = (...toys: Toy[]): void => void seen.push(...toys);
    for (let n = 0; n < 2; n += 1) fixture.informer.addHandler({ onAdd: see, onUpdate: see });
    await fixture.start();
    await fixture.put("car", { color: "blue" });
    await fixture.news();
    const [added, addedAgain, changed, before, changedAgain, beforeAgain] = seen;
    assert.equal(added, addedAgain);
    assert.deepEqual([changed, before], [changedAgain, beforeAgain]);
    assert.equal(changed, changedAgain);
    assert.equal(before, beforeAgain);
    fixture.stop();
  });

  it("reports the differences when the copy had to be loaded again", async () => {
    const fixture = new Fixture();
    for (const name of ["same", "changed", "replaced", "gone"]) await fixture.put(name);
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    await fixture.news();
    await fixture.store.forget(async () => {
      await fixture.put("changed", { color: "blue" });
      await fixture.put("replaced", { uid: "another" });
      await fixture.delete("gone");
      await fixture.put("new");
    });
    const news = await fixture.news();
    assert.deepEqual(news, [
      "update changed:red changed:blue",
      "delete gone:red",
      "add new:red",
      "delete replaced:red",
      "add replaced:red",
    ]);
    await fixture.put("same", { color: "blue" });
    assert.deepEqual(await fixture.news(), ["update same:red same:blue"]);
    fixture.stop();
  });

  it("reads no object that is the same when the copy had to be loaded again", async () => {
    const fixture = new Fixture();
    const { store } = fixture;
    for (const name of ["changed", ...Array.from({ length: 20 }, (_, index) => `same-${index}`)])
      await fixture.put(name);
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    await fixture.news();
    let readsBefore = 0;
    await store.forget(async () => {
      await fixture.put("changed", { color: "blue" });
      readsBefore = store.reads;
    });
    assert.deepEqual(await fixture.news(), ["update changed:red changed:blue"]);
    assert.ok(store.reads - readsBefore < 10, `${store.reads - readsBefore} texts were read`);
    fixture.stop();
  });

  it("reports lost changes when the store no longer has the changed objects, and continues", async () => {
    const fixture = new Fixture();
    for (const name of ["same", "changed", "gone"]) await fixture.put(name);
    // Nothing is parsed at the start: an object that was may still be in memory.
    const { onAdd, ...handler }: InformerHandler<Toy> = fixture.handler();
    fixture.informer.addHandler(handler);
    await fixture.start();
    Object.assign(handler, { onAdd });
    const revisionOf = (name: string): number => fixture.registry.peek({ namespace: "box", name })?.revision ?? 0;
    const forgotten = ["changed", "gone"].map(revisionOf);
    await fixture.store.forget(async () => {
      await fixture.put("changed", { color: "blue" });
      await fixture.delete("gone");
      for (const revision of forgotten) fixture.store.kept.delete(revision);
    });
    assert.deepEqual(await fixture.news(), ["add changed:blue"]);
    assert.match(String(fixture.errors), /^ChangesLost: the old versions of 2 objects are no longer kept/);
    await fixture.put("same", { color: "blue" });
    assert.deepEqual(await fixture.news(), ["update same:red same:blue"]);
    fixture.stop();
  });

  it("reports an object as new once it can be read, and nothing of one that can't be read any more", async () => {
    const fixture = new Fixture();
    const { unreadable } = fixture.store;
    await fixture.put("secret");
    unreadable.add(keyOf("secret"));
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    assert.deepEqual(await fixture.news(), []);
    await fixture.store.forget(async () => {
      unreadable.clear();
      await fixture.put("one");
    });
    assert.deepEqual(await fixture.news(), ["add one:red", "add secret:red"]);
    await fixture.store.forget(async () => {
      unreadable.add(keyOf("secret"));
      await fixture.put("two");
    });
    assert.deepEqual(await fixture.news(), ["add two:red"]);
    fixture.stop();
  });

  it("reports an object that was damaged while the copy had to be loaded again, and continues", async () => {
    const fixture = new Fixture();
    await fixture.put("ball");
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    await fixture.news();
    await fixture.store.forget(async () => {
      await fixture.damage("ball");
      await fixture.put("car");
    });
    assert.deepEqual(await fixture.news(), ["add car:red"]);
    assert.match(String(fixture.errors), /^SyntaxError: /);
    fixture.stop();
  });

  it("continues after a handler that throws", async () => {
    const fixture = new Fixture();
    const failure = new Error("a bug");
    fixture.informer.addHandler({
      onAdd() {
        throw failure;
      },
    });
    fixture.informer.addHandler(fixture.handler());
    await fixture.start();
    await fixture.put("car");
    assert.deepEqual(await fixture.news(), ["add car:red"]);
    assert.deepEqual(fixture.errors, [failure]);
    assert.throws(() => fixture.informer.addHandler({}), TypeError);
    fixture.stop();
  });
});
