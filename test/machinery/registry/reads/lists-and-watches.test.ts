import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { deleteCollection } from "../../../../src/machinery/registry/writes/delete-collection.ts";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { listObjects } from "../../../../src/machinery/registry/reads/list-objects.ts";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import type { ListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import { patchObject } from "../../../../src/machinery/registry/writes/patch-object.ts";
import { ApiError, badRequest, unauthorized } from "../../../../src/machinery/api/api-error.ts";
import type { AdmissionRule } from "../../../../src/machinery/api/attributes.ts";
import { watchObjects } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import type { ObjectObserver } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { apiError, toyBox, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

const options = (query: string, { namespace = "box" } = {}): ListOptions<Toy> =>
  parseListOptions(toys, { query, namespace, name: "" });
const list = (box: ToyBox, query = "") => listObjects(box.registry, options(query));
const names = async (box: ToyBox, query = ""): Promise<(string | undefined)[]> =>
  Array.from((await list(box, query)).items, ({ object }) => object.metadata.name);
const remove = ({ registry, caller }: ToyBox, name: string) =>
  deleteObject(registry, { namespace: "box", name, options: { isDryRun: false }, caller });
const paint = ({ registry, caller }: ToyBox, name: string, color: string) =>
  patchObject(registry, {
    type: "merge",
    text: JSON.stringify({ color }),
    options: { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false },
    namespace: "box",
    name,
    subresource: "",
    manager: "test",
    caller,
    authorizeCreate: () => assert.fail("the toy exists"),
  });

async function filled(count: number): Promise<ToyBox> {
  const box = await toyBox();
  for (let index = 0; index < count; index += 1) {
    await box.add(`toy-${index}`, { color: index % 2 === 0 ? "red" : "blue" });
  }
  return box;
}

describe("a list", () => {
  it("ends when nobody waits any more for what it selects", async (t) => {
    const box = await filled(4);
    const leaving = new AbortController();
    const reads: string[] = [];
    const { selector, ...others } = options("fieldSelector=color%3Dred");
    const matches = (stored: Parameters<typeof selector.matches>[0]): boolean => {
      reads.push(stored.key);
      leaving.abort();
      return true;
    };
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each object takes a turn
    const listed = listObjects(box.registry, { ...others, selector: { ...selector, matches }, waiter: leaving });
    await assert.rejects(listed, apiError(504));
    assert.equal(reads.length, 1);
  });

  it("is sorted by name, limited to the namespace, and shows its version", async () => {
    const box = await filled(3);
    assert.deepEqual(await names(box), ["toy-0", "toy-1", "toy-2"]);
    assert.equal((await list(box)).resourceVersion, String(box.store.latestRevision()));
    assert.equal((await listObjects(box.registry, options("", { namespace: "bo" }))).items.length, 0);
    assert.equal((await listObjects(box.registry, options("", { namespace: "" }))).items.length, 3);
  });

  it("has no end by a negative limit", async () => {
    const box = await filled(3);
    assert.deepEqual(await names(box, "limit=-1"), ["toy-0", "toy-1", "toy-2"]);
    assert.deepEqual(await names(box, "limit=-1&fieldSelector=color%3Dred"), ["toy-0", "toy-2"]);
  });

  it("selects by fields and labels", async () => {
    const box = await filled(4);
    assert.deepEqual(await names(box, "fieldSelector=color%3Dred"), ["toy-0", "toy-2"]);
    assert.deepEqual(await names(box, "fieldSelector=metadata.name%3Dtoy-1"), ["toy-1"]);
    assert.deepEqual(await names(box, "fieldSelector=color!%3Dred,metadata.name!%3Dtoy-1"), ["toy-3"]);
    assert.deepEqual(await names(box, "labelSelector=x"), []);
    assert.throws(() => options("fieldSelector=size%3D1"), apiError(400, "field label not supported: size"));
    assert.throws(() => options("labelSelector=a+b"), apiError(400, "found 'b', expected: in, notin"));
  });

  it("is refused for its syntax, then for its versions, then for a field that the kind does not have", () => {
    const versions = apiError(422, "sendInitialEvents is forbidden for list");
    assert.throws(() => options("fieldSelector=size%3D1&sendInitialEvents=true"), versions);
    assert.throws(() => options("labelSelector=a+b&sendInitialEvents=true"), apiError(400, "found 'b'"));
    assert.throws(
      () => options("fieldSelector=size&sendInitialEvents=true"),
      apiError(400, "invalid selector: 'size'"),
    );
  });

  it("of a kind of the cluster without fields of its own selects by a namespace too, in which nothing is", async () => {
    const ownFields = { ...toys, scope: "Cluster" } as const;
    const { selectableFields: _fields, ...plain } = ownFields;
    const { registry, caller, decoded } = await toyBox({ definition: plain });
    const object = decoded({ metadata: { name: "bear" } });
    await createObject(registry, { object, namespace: "", manager: "test", caller });
    const found = async (fieldSelector: string): Promise<number> => {
      const query = new URLSearchParams({ fieldSelector }).toString();
      const parsed = parseListOptions(plain, { query, namespace: "", name: "" });
      return (await listObjects(registry, parsed)).items.length;
    };
    assert.equal(await found("metadata.namespace=box"), 0);
    assert.equal(await found("metadata.namespace!=box"), 1);
    assert.equal(await found("metadata.namespace="), 1);
    await assert.rejects(
      found("color=red"),
      apiError(400, '"color" is not a known field selector: only "metadata.name"'),
    );
    const request = { query: "fieldSelector=metadata.namespace%3Dbox", namespace: "", name: "" };
    assert.throws(
      () => parseListOptions(ownFields, request),
      apiError(400, "field label not supported: metadata.namespace"),
    );
  });

  it("comes in pages that all show the revision of the first", async () => {
    const box = await filled(5);
    const first = await list(box, "limit=2");
    assert.equal(first.remainingItemCount, 3);
    await remove(box, "toy-3");
    await box.add("toy-9");
    const rest = await list(box, `limit=9&continue=${first.continueToken}`);
    assert.deepEqual(
      Array.from(rest.items, ({ object }) => object.metadata.name),
      ["toy-2", "toy-3", "toy-4"],
    );
    assert.equal(rest.resourceVersion, first.resourceVersion);
    assert.equal(rest.continueToken, "");
  });

  it("returns a new continue token when the revision of its pages is compacted", async () => {
    const box = await filled(4);
    const first = await list(box, "limit=2");
    await remove(box, "toy-2");
    await box.store.compact(box.store.latestRevision());
    let token = "";
    await assert.rejects(list(box, `continue=${first.continueToken}`), (error: { continueToken?: string }) => {
      token = error.continueToken ?? "";
      return apiError(410, "too old to display a consistent list")(error);
    });
    assert.deepEqual(await names(box, `continue=${token}`), ["toy-3"]);
  });

  it("is refused as too old for a version that is compacted", async () => {
    const box = await filled(2);
    const past = box.store.latestRevision();
    await remove(box, "toy-0");
    await box.store.compact(box.store.latestRevision());
    const refused = apiError(410, "The resourceVersion for the provided list is too old.");
    await assert.rejects(list(box, `resourceVersion=${past}&resourceVersionMatch=Exact`), refused);
  });

  it("has no remaining item count with a selector", async () => {
    const box = await filled(6);
    const first = await list(box, "limit=2&fieldSelector=color%3Dred");
    assert.equal(first.remainingItemCount, undefined);
    assert.notEqual(first.continueToken, "");
  });

  it("shows a past version exactly, and refuses versions of the future and garbage", async () => {
    const box = await filled(1);
    const past = box.store.latestRevision();
    await remove(box, "toy-0");
    assert.deepEqual(await names(box, `resourceVersion=${past}&resourceVersionMatch=Exact`), ["toy-0"]);
    assert.deepEqual(await names(box, `resourceVersion=${past}&limit=1`), ["toy-0"]);
    assert.deepEqual(await names(box, `resourceVersion=${past}`), []);
    assert.deepEqual(await names(box, "resourceVersion=0"), []);
    await assert.rejects(list(box, "resourceVersion=999999"), apiError(504, "Too large resource version: 999999"));
    await assert.rejects(
      list(box, "resourceVersion=999999&resourceVersionMatch=Exact"),
      apiError(504, "Too large resource version"),
    );
    await assert.rejects(list(box, "resourceVersion=x"), apiError(400, "resourceVersion"));
    await assert.rejects(list(box, `resourceVersion=${2n ** 64n}`), apiError(400, "resourceVersion"));
    await assert.rejects(list(box, `resourceVersion=${2n ** 64n - 1n}`), apiError(504, "Too large resource version"));
  });

  it("of one name is never older for its limit, unless it asks for exactly its version", async () => {
    const box = await filled(2);
    const past = box.store.latestRevision();
    await remove(box, "toy-0");
    const query = `fieldSelector=metadata.name%3Dtoy-0&limit=1&resourceVersion=${past}`;
    assert.deepEqual(await names(box, query), []);
    assert.deepEqual(await names(box, `${query}&resourceVersionMatch=Exact`), ["toy-0"]);
    const everywhere = listObjects(box.registry, options(query, { namespace: "" }));
    assert.deepEqual(
      Array.from((await everywhere).items, ({ object }) => object.metadata.name),
      ["toy-0"],
    );
  });

  it("of the future says when to try again, but for what upstream reads from its storage", async () => {
    const retry = async (box: ToyBox, query: string): Promise<number | undefined> => {
      const refused = await list(box, query).catch((error: unknown) => error);
      assert.ok(refused instanceof ApiError && refused.code === 504);
      return refused.retryAfterSeconds;
    };
    const box = await filled(1);
    assert.equal(await retry(box, "resourceVersion=999999"), 1);
    assert.equal(await retry(box, "resourceVersion=999999&resourceVersionMatch=Exact"), 1);
    const uncached = await toyBox({ definition: { ...toys, isReadFromStorage: true } });
    assert.equal(await retry(uncached, "resourceVersion=999999"), undefined);
  });

  it("is whole at version 0 in spite of a limit, but for what upstream reads from its storage", async () => {
    assert.deepEqual(await names(await filled(2), "resourceVersion=0&limit=1"), ["toy-0", "toy-1"]);
    const box = await filled(3);
    const { continueToken } = await list(box, "limit=1");
    assert.deepEqual(await names(box, `resourceVersion=0&limit=1&continue=${continueToken}`), ["toy-1", "toy-2"]);
    const uncached = await toyBox({ definition: { ...toys, isReadFromStorage: true } });
    await uncached.add("toy-0");
    await uncached.add("toy-1");
    const page = await list(uncached, "resourceVersion=0&limit=1");
    assert.deepEqual([page.items.length, page.remainingItemCount], [1, 1]);
  });

  it("is the newest at a version of several zeros, also as the exact one", async () => {
    const box = await filled(1);
    assert.deepEqual(await names(box, "resourceVersion=00&resourceVersionMatch=Exact"), ["toy-0"]);
    assert.deepEqual(await names(box, "resourceVersion=00"), ["toy-0"]);
  });

  it("counts the remaining items at its revision, even beyond the kept history", async () => {
    for (const historyLength of [1000, 5, 1, 0]) {
      const box = await toyBox({ historyLength });
      for (let index = 0; index < 7; index += 1) await box.add(`toy-${index}`);
      let page = await list(box, "limit=2");
      const counts = [page.remainingItemCount];
      for (let round = 0; page.continueToken !== ""; round += 1) {
        await box.add(`toy-${round}-late`);
        await remove(box, `toy-${6 - round}`);
        page = await list(box, `limit=2&continue=${page.continueToken}`);
        counts.push(page.remainingItemCount);
      }
      assert.deepEqual(counts, [5, 3, 1, undefined], `a history of ${historyLength}`);
    }
  });

  for (const historyLength of [1000, 3, 0]) {
    it(`shows its first version on all pages, with a selector too, with a history of ${historyLength}`, async (context) => {
      const box = await toyBox({ historyLength });
      for (let index = 0; index < 8; index += 1)
        await box.add(`toy-${index}`, { color: index % 4 === 0 ? "blue" : "red" });
      const reads = context.mock.method(box.store, "range");
      for (const [selector, expected] of [
        ["", ["toy-0", "toy-1", "toy-2", "toy-3", "toy-4", "toy-5", "toy-6", "toy-7"]],
        ["&fieldSelector=color%3Dred", ["toy-1", "toy-2", "toy-3", "toy-5", "toy-6", "toy-7"]],
        ["&fieldSelector=color!%3Dred", ["toy-0", "toy-4"]],
      ] as const) {
        let page = await list(box, `limit=1${selector}`);
        const seen = [...page.items];
        for (let round = 0; page.continueToken !== ""; round += 1) {
          await box.add(`toy-${round}-late`, { color: "red" });
          if (round === 0) await paint(box, "toy-7", "blue");
          page = await list(box, `limit=1${selector}&continue=${page.continueToken}`);
          seen.push(...page.items);
        }
        assert.deepEqual(
          seen.map(({ object }) => object.metadata.name),
          expected,
        );
        for (let round = 0; round < 8; round += 1) await remove(box, `toy-${round}-late`).catch(() => {});
        await paint(box, "toy-7", "red");
      }
      if (historyLength === 1000) assert.equal(reads.mock.callCount(), 0);
    });
  }

  it("reads the store in parts when the history does not reach back", async (context) => {
    const box = await toyBox({ historyLength: 0 });
    for (let index = 0; index < 1100; index += 1)
      await box.add(`toy-${String(index).padStart(4, "0")}`, { color: "red" });
    const past = box.store.latestRevision();
    await paint(box, "toy-0999", "blue");
    const reads = context.mock.method(box.store, "range");
    const found = await names(box, `resourceVersion=${past}&resourceVersionMatch=Exact&fieldSelector=color%3Dred`);
    assert.equal(found.length, 1100);
    assert.equal(new Set(found).size, 1100);
    assert.equal(reads.mock.callCount(), 3);
    const first = await list(box, `resourceVersion=${past}&limit=2&fieldSelector=color%3Dred`);
    assert.equal(first.items.length, 2);
    assert.equal(reads.mock.callCount(), 4);
  });

  it("refuses continue tokens that it has not issued, and those of another list", async () => {
    const box = await filled(2);
    for (const token of [
      "garbage",
      "!!!",
      "e30",
      Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}').toString("base64url"),
    ]) {
      await assert.rejects(list(box, `continue=${encodeURIComponent(token)}`), apiError(400, "invalid continue token"));
    }
    for (const start of ["a/", "cox", "cox0", "coy/a", "cox/toy", "cox/a/b\\0", "box/toy-0\\0", "zzz", "\u{1f600}"]) {
      for (const rv of [box.store.latestRevision(), 1, -1]) {
        const foreign = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString("base64url");
        const reading = listObjects(box.registry, options(`continue=${foreign}`, { namespace: "cox" }));
        await assert.rejects(reading, apiError(400, "invalid continue token"), `${start} at ${rv}`);
      }
    }
  });

  it("refuses a continue token of the future, and one whose key is longer than any", async () => {
    const box = await filled(2);
    const tokenOf = (rv: number, start: string): string =>
      Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString("base64url");
    await assert.rejects(list(box, `continue=${tokenOf(999_999, "box/toy-0\0")}`), apiError(504, "Too large resource"));
    const longest = tokenOf(box.store.latestRevision(), `box/${"a".repeat(5000)}\0`);
    await assert.rejects(list(box, `continue=${longest}`), apiError(400, "the start key is longer than any key"));
  });

  it("refuses combinations of parameters that make no sense", () => {
    for (const query of [
      "resourceVersionMatch=Exact",
      "resourceVersionMatch=Exact&resourceVersion=0",
      "resourceVersionMatch=Other&resourceVersion=1",
      "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
      "sendInitialEvents=false",
    ]) {
      assert.throws(() => options(query), apiError(422, "ListOptions.meta.k8s.io"), query);
    }
    assert.throws(() => options("limit=x"), apiError(400, 'strconv.ParseInt: parsing "x": invalid syntax'));
    assert.throws(() => options("limit=99999999999999999999"), apiError(400, "value out of range"));
  });
});

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
