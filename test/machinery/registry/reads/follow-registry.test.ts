import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceUnavailable } from "../../../../src/machinery/api/api-error.ts";
import { followRegistry } from "../../../../src/machinery/registry/reads/follow-registry.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { resourceRange } from "../../../../src/machinery/registry/stored/storage-key.ts";
import type { ResourceRegistry } from "../../../../src/machinery/registry/resource-registry.ts";
import { ForgetfulStore } from "../forgetful-store.ts";
import { StoredTexts } from "../../../../src/machinery/registry/stored/stored-texts.ts";
import { toyBox, toyRegistry } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";

test("a follower that failed on an event restarts from the current objects, and gets all later events", async () => {
  const box = await toyBox();
  const heard: string[] = [];
  let isBroken = false;
  followRegistry(box.registry, {
    onLoaded: () => void heard.push("loaded"),
    onEvent(event) {
      if (isBroken) throw serviceUnavailable("the server's copy of an object is out of date");
      heard.push(event.key.slice(event.key.lastIndexOf("/") + 1));
    },
  });
  await box.add("ball");
  isBroken = true;
  await box.add("car");
  isBroken = false;
  await box.add("doll");
  assert.deepEqual(heard, ["loaded", "ball", "loaded", "doll"]);
});

/** Notes what a follower hears. */
function follow(registry: ResourceRegistry<Toy>): string[] {
  const heard: string[] = [];
  followRegistry(registry, {
    onLoaded: () => void heard.push("loaded"),
    onEvent: ({ type, key }) => void heard.push(`${type} ${key.slice(key.lastIndexOf("/") + 1)}`),
  });
  return heard;
}

test("a follower hears only what has changed when the cache had to reload", async () => {
  const store = new ForgetfulStore();
  const { registry, add } = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const { key, revision } = await add("ball");
  await add("car");
  const heard = follow(registry);
  await store.forget(async () => {
    await add("doll");
    await store.write({ key, value: undefined, expectedRevision: revision });
  });
  await registry.waitForFreshCache();
  await add("engine");
  assert.deepEqual(heard, ["loaded", "delete ball", "put doll", "put engine"]);
});

test("a follower starts anew when an object becomes readable that could not be decrypted", async () => {
  const store = new ForgetfulStore();
  const { registry, add } = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const { key } = await add("ball");
  store.unreadable.add(key);
  const reload = async (): Promise<void> => {
    await store.forget(async () => void (await add(`toy-${store.latestRevision()}`)));
    await registry.waitForFreshCache();
  };
  await reload();
  const heard = follow(registry);
  store.unreadable.clear();
  await reload();
  assert.deepEqual(heard, ["loaded", "put toy-3", "loaded"]);
});

test("a follower continues when an object was damaged in the store while the cache had to reload", async () => {
  const store = new ForgetfulStore();
  const { registry, add } = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const { key, revision } = await add("ball");
  const heard = follow(registry);
  await store.forget(async () => {
    await store.write({ key, value: Buffer.from('{"metadata":{"name":'), expectedRevision: revision });
  });
  await registry.waitForFreshCache();
  await add("engine");
  assert.deepEqual(heard, ["loaded", "put ball", "put engine"]);
});

test("a follower that cannot start anew, because of an object that cannot be read, hears all else that has changed", async () => {
  const store = new ForgetfulStore();
  const { registry, add } = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const { key } = await add("ball");
  const heard: string[] = [];
  followRegistry(registry, {
    onLoaded() {
      const objects = registry.cache.range(resourceRange(registry.definition)).map(({ object }) => object);
      heard.push(`loaded ${objects.length}`);
    },
    onEvent: ({ type, key: changed }) => void heard.push(`${type} ${changed.slice(changed.lastIndexOf("/") + 1)}`),
  });
  for (const name of ["car", "doll"]) {
    await store.forget(async () => {
      store.unreadable.add(key);
      await add(name);
    });
    await registry.waitForFreshCache();
  }
  assert.deepEqual(heard, ["loaded 1", "put car", "put doll"]);
});

test("a follower that cannot start anew hears of a change also when the old version is lost", async () => {
  const store = new ForgetfulStore();
  const texts = new StoredTexts({ valueAt: () => undefined, maximumCharacters: 0 });
  const registry = toyRegistry({ store, texts, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const key = "/registry/toys.toys.example.com/box/ball";
  const value = Buffer.from('{"metadata":{"name":"ball","namespace":"box"}}');
  await store.write({ key, value, expectedRevision: 0 });
  const revision = store.latestRevision();
  await registry.start();
  const heard: string[] = [];
  let isBroken = false;
  followRegistry(registry, {
    onLoaded() {
      if (isBroken) throw serviceUnavailable("another object cannot be read");
      heard.push("loaded");
    },
    onEvent: ({ type, key: changed }) => void heard.push(`${type} ${changed.slice(changed.lastIndexOf("/") + 1)}`),
  });
  isBroken = true;
  await store.forget(async () => void (await store.write({ key, value, expectedRevision: revision })));
  await registry.waitForFreshCache();
  assert.deepEqual(heard, ["loaded", "put ball"]);
});

test("a follower that could not start anew does so with the next reload of the cache, also when all changes since then are told", async () => {
  const store = new ForgetfulStore();
  const { registry, add } = await toyBox({ store, feed: new ChangeFeed({ store, replayLength: 0 }) });
  const heard: string[] = [];
  let isBroken = false;
  const hear = (what: string): void => {
    if (isBroken) throw serviceUnavailable("an object cannot be read");
    heard.push(what);
  };
  followRegistry(registry, {
    onLoaded: () => hear("loaded"),
    onEvent: ({ type, key }) => hear(`${type} ${key.slice(key.lastIndexOf("/") + 1)}`),
  });
  isBroken = true;
  await add("ball");
  isBroken = false;
  await store.forget(async () => void (await add("car")));
  await registry.waitForFreshCache();
  assert.deepEqual(heard, ["loaded", "put car", "loaded"]);
});
