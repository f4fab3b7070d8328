import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { Answer, WatchEvent } from "../in-process.ts";

let server: TestServer;
let api: InProcess;
before(async () => {
  server = await startTestServer();
  api = new InProcess(server);
});

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
}

interface Table {
  readonly columnDefinitions: readonly object[] | null;
  readonly rows: readonly { readonly object: Typed }[];
}

/** The leases of a namespace that only this test uses: no controller writes them. */
async function newNamespace(name: string): Promise<string> {
  await api.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } });
  return `/apis/coordination.platform.io/v1/namespaces/${name}/leases`;
}
const create = (collection: string, name: string, more: object = {}): Promise<Answer> =>
  api.json(collection, { method: "POST", body: { metadata: { name, ...more } } });
const remove = (collection: string, name: string): Promise<Answer> =>
  api.json(`${collection}/${name}`, { method: "DELETE" });
const namesOf = ({ items }: Answer): string[] => items.map(({ metadata }) => metadata.name);
const shown = (events: readonly WatchEvent[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name}`);

describe("a list in pages", () => {
  it("shows the state of its first page, whatever happens meanwhile, and counts the remaining items", async () => {
    const collection = await newNamespace("pages");
    for (const name of ["a", "b", "c", "d", "e"]) await create(collection, name);
    const first = await api.json(`${collection}?limit=2`);
    assert.deepEqual([namesOf(first), first.metadata.remainingItemCount], [["a", "b"], 3]);
    await create(collection, "aa");
    await remove(collection, "d");
    const second = await api.json(`${collection}?limit=2&continue=${first.metadata.continue ?? ""}`);
    assert.deepEqual(namesOf(second), ["c", "d"]);
    assert.equal(second.metadata.remainingItemCount, 1);
    const last = await api.json(`${collection}?limit=2&continue=${second.metadata.continue ?? ""}`);
    assert.deepEqual(namesOf(last), ["e"]);
    assert.equal(last.metadata.continue ?? "", "");
    assert.equal(last.metadata.remainingItemCount, undefined);
    const versions = new Set([first, second, last].map(({ metadata }) => metadata.resourceVersion));
    assert.equal(versions.size, 1);
  });

  it("continues with the inconsistent token of a 410 once its revision is compacted", async () => {
    const collection = await newNamespace("compacted");
    for (const name of ["a", "b", "c"]) await create(collection, name);
    const first = await api.json(`${collection}?limit=1`);
    await remove(collection, "b");
    const { metadata } = await create(collection, "d");
    await server.store.compact(Number(metadata.resourceVersion));
    const expired = await api.json(`${collection}?limit=1&continue=${first.metadata.continue ?? ""}`);
    assert.deepEqual([expired.code, expired.reason], [410, "Expired"]);
    assert.match(expired.message, /use the continue token in this response/);
    const second = await api.json(`${collection}?limit=1&continue=${expired.metadata.continue ?? ""}`);
    assert.deepEqual(namesOf(second), ["c"]);
    const last = await api.json(`${collection}?limit=1&continue=${second.metadata.continue ?? ""}`);
    assert.deepEqual(namesOf(last), ["d"]);
  });

  it("counts the items after each page at the revision of the first, whatever is written and removed meanwhile", async () => {
    const collection = await newNamespace("counted");
    const names = Array.from({ length: 9 }, (_, index) => `lease-${index}`);
    for (const name of names) await create(collection, name);
    const seen: string[] = [];
    let query = "?limit=2";
    for (let written = 0; ; written += 1) {
      const page = await api.json(`${collection}${query}`);
      seen.push(...namesOf(page));
      assert.equal(page.metadata.remainingItemCount ?? 0, names.length - seen.length);
      if (page.metadata.continue === undefined) break;
      query = `?limit=2&continue=${page.metadata.continue}`;
      for (const name of [`lease-8-${written}`, `a-${written}`, `z-${written}`]) await create(collection, name);
      for (const name of ["lease-7", `z-${written - 1}`, "lease-8"].slice(0, written + 1))
        await remove(collection, name);
      if (written === 1) await create(collection, "lease-7");
    }
    assert.deepEqual(seen, names);
    const past = await api.json(`${collection}?limit=3`);
    for (const name of ["zz-1", "zz-2"]) await create(collection, name);
    const exact = `resourceVersion=${past.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const again = await api.json(`${collection}?limit=3&${exact}`);
    assert.equal(again.metadata.remainingItemCount, past.metadata.remainingItemCount);
  });

  it("refuses a token of another namespace, of another kind and of no list at all", async () => {
    const [one, other] = [await newNamespace("token-one"), await newNamespace("token-other")];
    for (const name of ["a", "b"]) await create(one, name);
    const { continue: token = "" } = (await api.json(`${one}?limit=1`)).metadata;
    assert.notEqual(token, "");
    for (const target of [
      other,
      `${one}?fieldSelector=metadata.name=a`,
      "/api/v1/nodes",
      "/api/v1/namespaces/default/secrets",
    ]) {
      const refused = await api.json(`${target}${target.includes("?") ? "&" : "?"}limit=1&continue=${token}`);
      assert.deepEqual([refused.code, refused.reason], [400, "BadRequest"], target);
      assert.match(refused.message, /^invalid continue token: /);
    }
    const deleted = await api.json(`${other}?continue=${token}`, { method: "DELETE" });
    assert.equal(deleted.code, 400);
    assert.deepEqual(
      namesOf(await api.json(`/apis/coordination.platform.io/v1/leases?continue=${token}`)).includes("b"),
      true,
    );
  });

  it("does not count the remaining items with a selector", async () => {
    const collection = await newNamespace("selected");
    for (const name of ["a", "b", "c"]) await create(collection, name, { labels: { of: "test" } });
    const page = await api.json(`${collection}?limit=1&labelSelector=of=test`);
    assert.notEqual(page.metadata.continue, undefined);
    assert.equal(page.metadata.remainingItemCount, undefined);
  });
});

describe("a watch", () => {
  it("streams the initial events, marks their end and continues", async () => {
    const collection = await newNamespace("streamed");
    for (const name of ["a", "b"]) await create(collection, name);
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const reader = await api.watch(`${collection}?${query}`);
    await reader.until(3);
    const made = await create(collection, "c");
    await reader.until(4);
    reader.stop();
    const [, , mark, change] = reader.events;
    assert.deepEqual(shown(reader.events), ["ADDED a", "ADDED b", "BOOKMARK undefined", "ADDED c"]);
    assert.deepEqual(mark?.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
    assert.ok(Number(mark?.object.metadata.resourceVersion) < Number(made.metadata.resourceVersion));
    assert.deepEqual(change?.object, made);
  });

  it("continues after a list, and sees objects that start or stop matching its selector", async () => {
    const collection = await newNamespace("resumed");
    const { metadata } = await api.json(collection);
    const label = (value: string): Promise<Answer> =>
      api.json(`${collection}/a`, {
        method: "PATCH",
        body: { metadata: { labels: { color: value } } },
        headers: { "content-type": "application/merge-patch+json" },
      });
    await create(collection, "a");
    for (const color of ["red", "blue", "red"]) await label(color);
    await remove(collection, "a");
    const resumed = `resourceVersion=${metadata.resourceVersion}&watch=1`;
    const all = await api.watch(`${collection}?${resumed}`);
    const red = await api.watch(`${collection}?${resumed}&labelSelector=color=red`);
    await Promise.all([all.until(5), red.until(4)]);
    all.stop();
    red.stop();
    assert.deepEqual(shown(all.events), ["ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a"]);
    assert.deepEqual(shown(red.events), ["ADDED a", "DELETED a", "ADDED a", "DELETED a"]);
  });

  it("is also served by the deprecated paths, for one object or all", async () => {
    const collection = await newNamespace("old-paths");
    await create(collection, "a");
    await create(collection, "b");
    const one = await api.watch("/apis/coordination.platform.io/v1/watch/namespaces/old-paths/leases/b");
    const all = await api.watch("/apis/coordination.platform.io/v1/watch/namespaces/old-paths/leases");
    await Promise.all([one.until(1), all.until(2)]);
    await remove(collection, "a");
    await remove(collection, "b");
    await Promise.all([one.until(2), all.until(4)]);
    one.stop();
    all.stop();
    assert.deepEqual(shown(one.events), ["ADDED b", "DELETED b"]);
    assert.deepEqual(shown(all.events), ["ADDED a", "ADDED b", "DELETED a", "DELETED b"]);
  });

  it("is checked as a list by the deprecated paths where its query does not say watch, as upstream", async () => {
    const path = "/apis/coordination.platform.io/v1/watch/namespaces/old-paths/leases";
    const { code, message } = await api.json(
      `${path}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0`,
    );
    assert.deepEqual([code, message.split(": ").at(-1)], [422, "sendInitialEvents is forbidden for list"]);
  });

  it("gets its own form of an event, whatever forms other watches get of it before", async () => {
    const own = await newNamespace("forms");
    const upstream = own.replace("platform.io", "k8s.io");
    const as = (kind: string, version: string, format = "json"): string =>
      `application/${format};as=${kind};v=${version};g=meta.k8s.io`;
    const protobuf = "vnd.kubernetes.protobuf";
    // What a form says of itself: its kinds and versions, and whether a table has columns.
    const forms: readonly (readonly [accept: string, says: readonly string[], collection?: string])[] = [
      ["application/json", ["Lease coordination.platform.io/v1"]],
      ["application/json", ["Lease coordination.k8s.io/v1"], upstream],
      [as("PartialObjectMetadata", "v1"), ["PartialObjectMetadata meta.k8s.io/v1"]],
      [as("PartialObjectMetadata", "v1beta1"), ["PartialObjectMetadata meta.k8s.io/v1beta1"]],
      [as("Table", "v1"), ["Table meta.k8s.io/v1", "with columns", "PartialObjectMetadata meta.k8s.io/v1"]],
      [
        as("Table", "v1beta1"),
        ["Table meta.k8s.io/v1beta1", "with columns", "PartialObjectMetadata meta.k8s.io/v1beta1"],
      ],
      [`application/${protobuf}`, ["protobuf Lease coordination.platform.io/v1"]],
      [`application/${protobuf}`, ["protobuf Lease coordination.k8s.io/v1"], upstream],
      [as("PartialObjectMetadata", "v1", protobuf), ["protobuf PartialObjectMetadata meta.k8s.io/v1"]],
    ];
    const typeOf = ({ kind, apiVersion }: Typed): string => `${kind} ${apiVersion}`;
    const said = (frame: Buffer): string[] => {
      if (frame[0] === 0) {
        const text = frame.toString("latin1");
        const [version, kind] = [
          /[a-z0-9.]+\/v1(?:beta1)?/.exec(text)?.[0],
          /Lease|PartialObjectMetadata/.exec(text)?.[0],
        ];
        return [`protobuf ${kind} ${version}`];
      }
      const { object } = JSON.parse(frame.toString()) as { readonly object: Typed & Partial<Table> };
      const { columnDefinitions, rows: [row] = [] } = object;
      if (row === undefined) return [typeOf(object)];
      return [typeOf(object), ...(columnDefinitions === null ? [] : ["with columns"]), typeOf(row.object)];
    };
    const reversed = forms.toReversed();
    for (const [count, order] of [forms, reversed].entries()) {
      const open = (resourceVersion: string) =>
        Promise.all(
          order.map(([accept, , collection = own]) => {
            const query = `watch=1&resourceVersion=${resourceVersion}&fieldSelector=metadata.name=lease-${count}`;
            return api.watch(`${collection}?${query}`, { headers: { accept } });
          }),
        );
      const early = await open("");
      const { metadata } = await create(own, `lease-${count}`);
      await Promise.all(early.map((reader) => reader.until(1)));
      const [late, latest] = [await open(""), await open(metadata.resourceVersion)];
      await Promise.all(late.map((reader) => reader.until(1)));
      await api.json(`${own}/lease-${count}`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { metadata: { labels: { color: "red" } } },
      });
      await Promise.all([...early, ...late].map((reader) => reader.until(2)));
      await Promise.all(latest.map((reader) => reader.until(1)));
      for (const reader of [...early, ...late, ...latest]) reader.stop();
      for (const [at, [accept, says]] of order.entries()) {
        const later = says.filter((one) => one !== "with columns");
        assert.deepEqual(early[at]?.frames.map(said), [says, later], accept);
        assert.deepEqual(late[at]?.frames.map(said), [says, later], accept);
        assert.deepEqual(latest[at]?.frames.map(said), [says], accept);
      }
    }
  });

  it("ends when its client does not read, and other watches continue", async () => {
    const collection = await newNamespace("slow");
    const [slow, quick] = [await api.watch(`${collection}?watch=1`), await api.watch(`${collection}?watch=1`)];
    await create(collection, "a");
    await Promise.all([slow.until(1), quick.until(1)]);
    slow.unreadBytes = 64 * 1024 * 1024;
    await create(collection, "b");
    await create(collection, "c");
    await quick.until(3);
    assert.equal(slow.isEnded, true);
    assert.equal(slow.frames.length, 2);
    assert.equal(quick.isEnded, false);
    assert.deepEqual(shown(quick.events), ["ADDED a", "ADDED b", "ADDED c"]);
    quick.stop();
  });
});
