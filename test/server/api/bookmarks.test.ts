import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

// The tests replace setTimeout and clearTimeout of the whole process. A loop of a server in it would lose its timers, or could not end one
// that it set before, and the process would stay for as long as that one takes.
let server: TestServer;
let api: InProcess;
const leases = (namespace: string): string => `/apis/coordination.platform.io/v1/namespaces/${namespace}/leases`;
before(async () => {
  server = await startTestServer({ settings: { controllers: false } });
  api = new InProcess(server);
  await api.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "elsewhere" } } });
});

const create = (collection: string, name: string): Promise<unknown> =>
  api.json(collection, { method: "POST", body: { metadata: { name } } });

describe("a bookmark", () => {
  it("comes before the end of an idle watch, with the revision that the watch has reached", async (t) => {
    const collection = leases("default");
    const { metadata } = await api.json(collection);
    const mark = ["BOOKMARK", metadata.resourceVersion];
    t.mock.timers.enable({ apis: ["setTimeout"] });
    for (const [query, milliseconds] of [
      ["timeoutSeconds=10", 8000],
      ["timeoutSeconds=2", 2000],
      ["timeoutSeconds=1", 1000],
      [`timeoutSeconds=10&resourceVersion=${metadata.resourceVersion}`, 8000],
      ["timeoutSeconds=10&resourceVersion=0", 8000],
      ["timeoutSeconds=10&labelSelector=of=nobody", 8000],
      ["timeoutSeconds=100", 60_000],
    ] as const) {
      const reader = await api.watch(`${collection}?watch=1&allowWatchBookmarks=true&${query}`);
      // Without a version, the state comes first, and the mark of its end.
      const expected = [...(/resourceVersion=[^0]/.test(query) ? [] : [mark]), mark];
      await reader.until(expected.length - 1);
      await new Promise((resolve) => setImmediate(resolve));
      t.mock.timers.tick(milliseconds);
      await reader.until(expected.length);
      assert.deepEqual(
        reader.events.map(({ type, object }) => [type, object.metadata.resourceVersion]),
        expected,
        query,
      );
      reader.stop();
    }
    const silent = await api.watch(`${collection}?watch=1&timeoutSeconds=10`);
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(10_000);
    assert.deepEqual([silent.events, silent.isEnded], [[], true]);
  });

  it("reports the revision of writes in other namespaces, and never moves back a watch from a future revision", async (t) => {
    const [collection, elsewhere] = [leases("default"), leases("elsewhere")];
    const { metadata } = await api.json(collection);
    const future = Number(metadata.resourceVersion) + 3;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=1000";
    const now = await api.watch(`${collection}?${query}`);
    const later = await api.watch(`${collection}?${query}&resourceVersion=${future}`);
    await now.until(1);
    await create(elsewhere, "a");
    const { metadata: first } = await api.json(elsewhere); // the list waits until the server knows of the write
    t.mock.timers.tick(60_000);
    await now.until(2);
    assert.deepEqual(
      now.events.map(({ object }) => object.metadata.resourceVersion),
      [metadata.resourceVersion, first.resourceVersion],
    );
    assert.deepEqual(later.events, []);
    for (const name of ["b", "c", "d"]) await create(elsewhere, name);
    const { metadata: last } = await api.json(elsewhere);
    t.mock.timers.tick(60_000);
    await Promise.all([now.until(3), later.until(1)]);
    for (const reader of [now, later]) {
      assert.equal(reader.events.at(-1)?.object.metadata.resourceVersion, last.resourceVersion);
      reader.stop();
    }
  });
});
