import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createObject } from "../../../../src/machinery/registry/writes/create-object.ts";
import { listObjects } from "../../../../src/machinery/registry/reads/list-objects.ts";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { apiError, toyBox, toys } from "../toy-resource.ts";
import type { ToyBox } from "../toy-resource.ts";
import { options, list, names, remove, paint, filled } from "./filled-box.ts";

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
