import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MemoryStore } from "../../src/machinery/storage/backends/memory.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { InProcess } from "./in-process.ts";

/** Counts how often it is asked for its newest revision, which on etcd is a call over the network. */
class CountedStore extends MemoryStore {
  asked = 0;

  override latestRevision(): number {
    this.asked += 1;
    return super.latestRevision();
  }
}

describe("a read on a store that other processes write to", () => {
  const store = new CountedStore();
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    // Loops ask the store too.
    server = await startTestServer({ store, settings: { controllers: false } });
    api = new InProcess(server);
  });
  after(() => server.stop());

  for (const path of ["/api/v1/namespaces/default", "/api/v1/namespaces", "/api/v1/namespaces?limit=1"]) {
    it(`asks the store once for its newest revision: ${path}`, async () => {
      const before = store.asked;
      await api.json(path);
      assert.equal(store.asked - before, 1);
    });
  }

  it("has what another process wrote before the request", async () => {
    const key = "/registry/namespaces/default";
    const { entries } = await store.range({ start: key, end: `${key}\0` });
    const [stored] = entries;
    assert.ok(stored);
    const value = Buffer.from(
      stored.value.toString().replace('"metadata":{', '"metadata":{"annotations":{"by":"another"},'),
    );
    await store.write({ key, value, expectedRevision: stored.modRevision });
    const { metadata } = await api.json("/api/v1/namespaces/default");
    assert.deepEqual(metadata.annotations, { by: "another" });
  });
});
