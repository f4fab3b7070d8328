import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { watchObjects } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import type { ObjectObserver } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import { apiError, toyBox, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";
import { remove, paint, filled } from "./filled-box.ts";

describe("a watch", () => {
  interface Seen {
    readonly events: string[];
    readonly revisions: number[];
    readonly ended: Promise<Error>;
    readonly ready: Promise<void>;
    stop(): void;
  }

  function watch(
    { registry }: Pick<ToyBox, "registry">,
    query: string,
    more: Pick<ObjectObserver<Toy>, "onStart" | "untilRead"> = {},
  ): Seen {
    const events: string[] = [];
    const revisions: number[] = [];
    const ended = Promise.withResolvers<Error>();
    const ready = Promise.withResolvers<void>();
    const running = watchObjects(registry, {
      options: parseListOptions(registry.definition, { query: `watch=1&${query}`, namespace: "box", name: "" }),
      observer: {
        onChange(type, object) {
          events.push(`${type} ${object.object.metadata.name} ${object.object.color ?? ""}`);
          revisions.push(object.revision);
        },
        onInitialEventsEnd() {
          if (query.includes("sendInitialEvents")) events.push("END OF STATE");
        },
        onReady: ready.resolve,
        onEnd: ended.resolve,
        ...more,
      },
    });
    return { events, revisions, ended: ended.promise, ready: ready.promise, stop: () => running.stop() };
  }

  it("ends with a 410 when more changes wait than its observer can catch up with", async () => {
    const box = await filled(1);
    const seen = watch(box, "", { untilRead: () => new Promise(() => {}) });
    const color = "x".repeat(1_400_000);
    for (let index = 0; index < 49; index += 1) await box.add(`large-${index}`, { color });
    const error = await seen.ended;
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 410);
    assert.deepEqual(seen.events, ["ADDED toy-0 red"]);
  });

  it("starts with the existing objects and continues with changes, in the order of revisions", async () => {
    const box = await filled(1);
    const seen = watch(box, "");
    await seen.ready;
    await box.add("new", { color: "blue" });
    await paint(box, "new", "green");
    const { object } = await remove(box, "new");
    assert.deepEqual(seen.events, ["ADDED toy-0 red", "ADDED new blue", "MODIFIED new green", "DELETED new green"]);
    assert.equal(seen.revisions.at(-1), object.revision);
    assert.deepEqual(
      seen.revisions,
      seen.revisions.toSorted((a, b) => a - b),
    );
  });

  it("starts with many objects in turns, and loses nothing that is written meanwhile", async (t) => {
    const box = await filled(3);
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each object takes a turn
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const seen = watch(box, query);
    const stopped = watch(box, query);
    while (seen.events.length === 0) await nextTurn();
    stopped.stop();
    await paint(box, "toy-2", "green");
    await box.add("late");
    assert.ok(!seen.events.includes("END OF STATE"));
    await seen.ready;
    await remove(box, "late");
    const state = ["ADDED toy-0 red", "ADDED toy-1 blue", "ADDED toy-2 red", "END OF STATE"];
    assert.deepEqual(seen.events, [...state, "MODIFIED toy-2 green", "ADDED late ", "DELETED late "]);
    assert.deepEqual(stopped.events, ["ADDED toy-0 red"]);
  });

  it("shares its initial state with other watches that start at the same revision", async (t) => {
    const box = await filled(2);
    const snapshot = t.mock.method(box.registry.cache, "snapshot");
    const first = [watch(box, "resourceVersion=0"), watch(box, "resourceVersion=0&fieldSelector=color%3Dred")];
    await Promise.all(first.map(({ ready }) => ready));
    assert.equal(snapshot.mock.callCount(), 1);
    await paint(box, "toy-1", "green");
    const next = watch(box, "resourceVersion=0");
    await next.ready;
    assert.equal(snapshot.mock.callCount(), 2);
    assert.deepEqual(first[0]?.events, ["ADDED toy-0 red", "ADDED toy-1 blue", "MODIFIED toy-1 green"]);
    assert.deepEqual(first[1]?.events, ["ADDED toy-0 red"]);
    assert.deepEqual(next.events, ["ADDED toy-0 red", "ADDED toy-1 green"]);
  });

  it("replays the changes after a version", async () => {
    const box = await filled(1);
    const since = box.store.latestRevision();
    await paint(box, "toy-0", "green");
    const seen = watch(box, `resourceVersion=${since}`);
    await seen.ready;
    assert.deepEqual(seen.events, ["MODIFIED toy-0 green"]);
  });

  it("reports objects that start or stop matching as added or deleted", async () => {
    const box = await filled(1);
    const seen = watch(box, "resourceVersion=0&fieldSelector=color%3Dgreen");
    await seen.ready;
    await paint(box, "toy-0", "green");
    await paint(box, "toy-0", "blue");
    await remove(box, "toy-0");
    assert.deepEqual(seen.events, ["ADDED toy-0 green", "DELETED toy-0 green"]);
    assert.ok((seen.revisions[1] ?? 0) > (seen.revisions[0] ?? 0));
  });

  it("marks the end of the initial events if requested, and can skip them", async () => {
    const box = await filled(1);
    const base = "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const whole = watch(box, `${base}&sendInitialEvents=true`);
    const without = watch(box, `${base}&sendInitialEvents=false`);
    await Promise.all([whole.ready, without.ready]);
    assert.deepEqual(whole.events, ["ADDED toy-0 red", "END OF STATE"]);
    assert.deepEqual(without.events, []);
  });

  it("from a version that requests initial events has each object once, as it is now", async () => {
    const box = await filled(1);
    const past = box.store.latestRevision();
    await box.add("toy-1");
    const query = `resourceVersion=${past}&resourceVersionMatch=NotOlderThan&sendInitialEvents=true`;
    const seen = watch(box, query);
    await seen.ready;
    await box.add("toy-2");
    assert.deepEqual(seen.events, ["ADDED toy-0 red", "ADDED toy-1 ", "END OF STATE", "ADDED toy-2 "]);
  });

  it("of 00 starts with the existing objects, as at 0, and without the mark of their end", async () => {
    const seen = watch(await filled(1), "resourceVersion=00&allowWatchBookmarks=true");
    await seen.ready;
    assert.deepEqual(seen.events, ["ADDED toy-0 red"]);
  });

  it("of a future version waits silently for later changes", async () => {
    const box = await filled(1);
    const seen = watch(box, `resourceVersion=${box.store.latestRevision() + 1}`);
    await seen.ready;
    await box.add("first");
    await box.add("second");
    assert.deepEqual(seen.events, ["ADDED second "]);
  });

  it("of a version before the history ends with a 410", async () => {
    const box = await toyBox({ historyLength: 2 });
    for (let index = 0; index < 6; index += 1) await box.add(`toy-${index}`);
    const error = await watch(box, "resourceVersion=1").ended;
    assert.ok(apiError(410, "too old resource version: 1")(error));
  });

  it("that requests initial events at a future resourceVersion ends with a 504", async () => {
    const box = await filled(1);
    const query = "resourceVersion=99999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    assert.ok(apiError(504)(await watch(box, query).ended));
    const uncached = await toyBox({ definition: { ...toys, isReadFromStorage: true } });
    const error = await watch(uncached, query).ended;
    assert.ok(error instanceof ApiError && error.retryAfterSeconds === 1);
  });

  it("evaluates an event once for all watches with the same selector", async () => {
    let looks = 0;
    const color = (toy: Toy): string => ((looks += 1), toy.color ?? "");
    const box = await toyBox({ definition: { ...toys, selectableFields: { color } } });
    const red = Array.from({ length: 20 }, () => watch(box, "fieldSelector=color%3Dred,metadata.name!%3Dx"));
    const others = Array.from({ length: 20 }, (_, index) => watch(box, `fieldSelector=color%3Dblue-${index}`));
    await Promise.all([...red, ...others].map(({ ready }) => ready));
    looks = 0;
    await box.add("toy", { color: "red" });
    for (const { events } of red) assert.deepEqual(events, ["ADDED toy red"]);
    for (const { events } of others) assert.deepEqual(events, []);
    // One to find the watches, one for all that were found.
    assert.equal(looks, 2);
  });

  it("gets what its own selector selects of an event, whatever those of others do", async () => {
    const box = await toyBox();
    const queries = ["label", "field"].flatMap((kind) =>
      ["red", "blue"].map((value) => `${kind}Selector=color!%3D${value}`),
    );
    const watches = queries.map((query) => watch(box, query));
    await Promise.all(watches.map(({ ready }) => ready));
    await box.add("toy", { color: "red", metadata: { labels: { color: "red" } } });
    assert.deepEqual(
      watches.map(({ events }) => events),
      [[], ["ADDED toy red"], [], ["ADDED toy red"]],
    );
  });

  it("delivers no events after it was stopped", async () => {
    const box = await filled(1);
    const seen = watch(box, "");
    await seen.ready;
    seen.stop();
    await box.add("late");
    assert.deepEqual(seen.events, ["ADDED toy-0 red"]);
  });
  it("does not begin after it was stopped while it waited for its version, or for the newest objects", async (t) => {
    const box = await filled(1);
    const started = t.mock.fn();
    const follow = t.mock.method(box.registry.cache, "watch");
    const next = box.store.latestRevision() + 1;
    const initial = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true";
    const future = watch(box, `resourceVersion=${next}&${initial}`, { onStart: started });
    const newest = watch(box, "");
    future.stop();
    newest.stop();
    await box.add("late");
    const other = watch(box, "");
    await other.ready;
    assert.deepEqual([future.events, newest.events], [[], []]);
    assert.equal(started.mock.callCount(), 0);
    assert.equal(follow.mock.callCount(), 1, "of the other watch");
  });
});
