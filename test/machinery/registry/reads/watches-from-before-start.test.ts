import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as fc from "fast-check";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import type { ResourceRegistry } from "../../../../src/machinery/registry/resource-registry.ts";
import { encodeStored } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { StoredTexts } from "../../../../src/machinery/registry/stored/stored-texts.ts";
import { watchObjects } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { derivedAesGcm } from "../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { EncryptedStore } from "../../../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../../../src/machinery/storage/encryption/encryption-rules.ts";
import type { LogRequest, Store } from "../../../../src/machinery/storage/store.ts";
import { damageWrite } from "../../storage/backends/damage-write.ts";
import { put } from "../../storage/store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { toyRegistry } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";

const keyOf = (name: string): string => `/registry/toys.toys.example.com/box/${name}`;

interface Write {
  readonly name: string;
  /** Undefined: a delete. */
  readonly color: string | undefined;
}

/** A store that was written to before anything that follows it started, and what was written. */
class WrittenStore {
  readonly store: Store;
  readonly writes: (Write & { readonly revision: number; readonly previous: string | undefined })[] = [];
  readonly #colors = new Map<string, string>();

  constructor(store: Store) {
    this.store = store;
  }

  async write({ name, color }: Write): Promise<void> {
    const previous = this.#colors.get(name);
    if (color === undefined && previous === undefined) return;
    const toy: Toy = { kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name, namespace: "box" } };
    const value = color === undefined ? undefined : encodeStored({ ...toy, color } as Toy).toString();
    const revision = await put(this.store, keyOf(name), value);
    this.writes.push({ name, color, revision, previous });
    if (color === undefined) this.#colors.delete(name);
    else this.#colors.set(name, color);
  }

  /** What a watch of all objects, or of those of one color, gets after a revision. */
  eventsAfter(revision: number, wanted?: string): string[] {
    const isWanted = (color: string | undefined): boolean =>
      color !== undefined && (wanted === undefined || color === wanted);
    return this.writes
      .filter((write) => write.revision > revision)
      .flatMap(({ name, color, previous, revision: at }) => {
        if (isWanted(color)) return [`${isWanted(previous) ? "MODIFIED" : "ADDED"} ${name} ${color} ${at}`];
        return isWanted(previous) ? [`DELETED ${name} ${previous} ${at}`] : [];
      });
  }
}

interface StartOptions {
  readonly maximumCharacters?: number;
  readonly replayLength?: number;
}

/** A process that starts on the store now. */
async function start(
  store: Store,
  { maximumCharacters = 0, replayLength = 1000 }: StartOptions = {},
): Promise<ResourceRegistry<Toy>> {
  const texts = new StoredTexts({ valueAt: (write) => store.valueAt?.(write), maximumCharacters });
  const registry = toyRegistry({ store, feed: new ChangeFeed({ store, replayLength }), texts });
  await registry.start();
  return registry;
}

function watch(registry: ResourceRegistry<Toy>, query: string) {
  const events: string[] = [];
  const { promise: settled, resolve } = Promise.withResolvers<Error | undefined>();
  const running = watchObjects(registry, {
    options: parseListOptions(registry.definition, { query: `watch=1&${query}`, namespace: "box", name: "" }),
    observer: {
      onChange: (type, { object, revision }) =>
        void events.push(`${type} ${object.metadata.name} ${object.color} ${revision}`),
      onInitialEventsEnd: () => assert.fail("it did not ask for the state"),
      onReady: () => resolve(undefined),
      onEnd: resolve,
    },
  });
  return { events, settled, stop: () => running.stop() };
}

describe("a watch from before the start of its server", () => {
  const opened: Store[] = [];
  after(async () => {
    for (const store of opened) await store.close();
  });
  const directory = temporaryFolder();
  const openStore = (): LmdbStore => {
    const store = new LmdbStore({ directory: `${directory}/${opened.length}`, profile: "platform" });
    opened.push(store);
    return store;
  };
  const write = fc.record({
    name: fc.constantFrom("a", "b", "c"),
    color: fc.option(fc.constantFrom("red", "green"), { nil: undefined }),
  });

  it("gets every event since then, whatever is written and compacted meanwhile", async () => {
    const store = openStore();
    const read = store.readLog.bind(store);
    store.readLog = (request) => read({ ...request, limit: 1 }); // so that much can happen between its parts
    const written = new WrittenStore(store);
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { minLength: 1, maxLength: 12 }),
        fc.array(write, { maxLength: 6 }),
        fc.array(write, { maxLength: 6 }),
        // Enough for no text, two texts or all of them.
        fc.record({ back: fc.nat(14), maximumCharacters: fc.constantFrom(0, 100, 1000), compact: fc.boolean() }),
        async (before, meanwhile, later, { back, maximumCharacters, compact }) => {
          for (const one of before) await written.write(one);
          const started = store.latestRevision();
          const registry = await start(store, { maximumCharacters });
          const revision = Math.max(store.compactedRevision(), started - back, 1);
          const all = watch(registry, `resourceVersion=${revision}`);
          const red = watch(registry, `resourceVersion=${revision}&fieldSelector=color%3Dred`);
          for (const one of meanwhile) await written.write(one);
          assert.deepEqual([await all.settled, await red.settled], [undefined, undefined]);
          for (const one of later) await written.write(one);
          if (compact) await store.compact(store.latestRevision());
          const again = watch(registry, `resourceVersion=${revision}`);
          assert.equal(await again.settled, undefined);
          assert.deepEqual(all.events, written.eventsAfter(revision));
          assert.deepEqual(red.events, written.eventsAfter(revision, "red"));
          assert.deepEqual(again.events, all.events);
          for (const one of [all, red, again]) one.stop();
        },
      ),
      { numRuns: 60 },
    );
  });

  it("gets the events of encrypted objects", async () => {
    const transformers = [derivedAesGcm({ name: "key", secret: Buffer.alloc(32, 1) })];
    const rules = new EncryptionRules({ rules: [{ prefix: keyOf("a"), transformers }] });
    const source = { current: () => rules, refreshed: () => rules, onReadable() {} };
    const written = new WrittenStore(new EncryptedStore(openStore(), source));
    for (const color of ["red", "green", undefined, "red"]) await written.write({ name: "a", color });
    await written.write({ name: "plain", color: "red" });
    const { events, settled } = watch(await start(written.store), "resourceVersion=2");
    assert.equal(await settled, undefined);
    assert.deepEqual(events, written.eventsAfter(2));
  });

  it("ends with a 410 when it begins further back than the server reads or the store keeps", async () => {
    const written = new WrittenStore(openStore());
    for (const color of ["red", "green", "red", "green"]) await written.write({ name: "a", color });
    const registry = await start(written.store, { replayLength: 2 });
    const isExpired = (error: Error | undefined): boolean => error instanceof ApiError && error.code === 410;
    assert.ok(isExpired(await watch(registry, "resourceVersion=2").settled));
    await written.store.compact(await written.store.latestRevision());
    assert.ok(isExpired(await watch(registry, "resourceVersion=4").settled));
    assert.equal(await watch(registry, "resourceVersion=5").settled, undefined);
  });

  for (const how of ["lost", "changed"] as const) {
    it(`ends with a 410 when a write since then is ${how}: its client lists again, and misses nothing`, async () => {
      const path = `${directory}/${opened.length}`;
      const written = new WrittenStore(openStore());
      for (const name of ["a", "b", "a"]) await written.write({ name, color: "red" });
      await damageWrite(path, { key: keyOf("b"), how });
      const registry = await start(written.store);
      const error = await watch(registry, "resourceVersion=2").settled;
      assert.ok(error instanceof ApiError && error.code === 410);
      const { events, settled } = watch(registry, "resourceVersion=4");
      assert.equal(await settled, undefined);
      assert.deepEqual(events, []);
    });
  }

  it("shares one read of the log with all watches that wait or come later", async () => {
    const store = openStore();
    const written = new WrittenStore(store);
    for (const color of ["red", "green", "red"]) await written.write({ name: "a", color });
    const requests: LogRequest[] = [];
    const read = store.readLog.bind(store);
    store.readLog = (request) => {
      requests.push(request);
      return read(request);
    };
    const registry = await start(store);
    assert.deepEqual(requests, []);
    const watches = [2, 3, 2].map((revision) => watch(registry, `resourceVersion=${revision}`));
    for (const { settled } of watches) assert.equal(await settled, undefined);
    assert.equal(await watch(registry, "resourceVersion=2").settled, undefined);
    assert.equal(requests.length, 1);
    assert.deepEqual(
      watches.map(({ events }) => events.length),
      [2, 1, 2],
    );
  });
});
