import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { RevisionCompacted } from "../../../src/machinery/storage/store.ts";
import type { RangeRequest, RangeResult, WatchRequest } from "../../../src/machinery/storage/store.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

/** Counts how often it is asked for its newest revision, which on etcd is a call over the network. */
class CountedStore extends MemoryStore {
  asked = 0;

  override latestRevision(): number {
    this.asked += 1;
    return super.latestRevision();
  }
}

describe("a request on a store that other processes write to", () => {
  const store = new CountedStore();
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    // Loops ask the store too.
    server = await startTestServer({ store, settings: { controllers: false } });
    api = new InProcess(server);
  });

  for (const path of ["/api/v1/namespaces/default", "/api/v1/namespaces", "/api/v1/namespaces?limit=1"]) {
    it(`asks the store once for its newest revision: ${path}`, async () => {
      const before = store.asked;
      await api.json(path);
      assert.equal(store.asked - before, 1);
    });
  }

  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const ann = { metadata: { name: "ann" } };
  const merge = { "content-type": "application/merge-patch+json" };
  const apply = { "content-type": "application/apply-patch+yaml" };
  for (const [write, path, request] of [
    ["a create", accounts, { method: "POST", body: ann }],
    ["an update", `${accounts}/ann`, { method: "PUT", body: { metadata: { name: "ann", labels: { a: "1" } } } }],
    ["a patch", `${accounts}/ann`, { method: "PATCH", headers: merge, body: { metadata: { labels: { a: "2" } } } }],
    [
      "an apply",
      `${accounts}/bob?fieldManager=test`,
      {
        method: "PATCH",
        headers: apply,
        body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "bob" } },
      },
    ],
    ["a token request", `${accounts}/ann/token`, { method: "POST", body: {} }],
    ["a delete", `${accounts}/ann`, { method: "DELETE" }],
  ] as const) {
    it(`asks the store once for its newest revision in ${write}`, async () => {
      const before = store.asked;
      await api.json(path, request);
      assert.equal(store.asked - before, 1);
    });
  }

  it("asks again before it says that a namespace does not exist", async () => {
    const before = store.asked;
    const { status } = await api.send("/api/v1/namespaces/nowhere/serviceaccounts", { method: "POST", body: ann });
    assert.deepEqual([status, store.asked - before], [404, 2]);
  });

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

/** Lets the copies in memory be loaded again, as when a KMS is back, until `loaded` is resolved. */
class ReloadedStore extends MemoryStore {
  loaded: PromiseWithResolvers<void> | undefined;
  readonly #watches = new Set<{ readonly request: WatchRequest; stop(): void }>();

  reload(): void {
    this.loaded = Promise.withResolvers();
    for (const watch of this.#watches) {
      watch.stop();
      watch.request.onEnd(new RevisionCompacted(0));
    }
  }

  override async range(request: RangeRequest): Promise<RangeResult> {
    await this.loaded?.promise;
    return await super.range(request);
  }

  override watch(request: WatchRequest): { stop(): void } {
    const inner = super.watch(request);
    const watch = {
      request,
      stop: () => {
        this.#watches.delete(watch);
        inner.stop();
      },
    };
    this.#watches.add(watch);
    return watch;
  }
}

describe("a request while the copies in memory are loaded again", () => {
  it("gets nothing through a RoleBinding that was deleted meanwhile", async () => {
    const store = new ReloadedStore();
    const server = await startTestServer({ store, settings: { controllers: false } });
    const api = new InProcess(server);
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    const account = "/api/v1/namespaces/default/serviceaccounts/robot";
    await api.json("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { metadata: { name: "robot" } },
    });
    const { status } = await api.json<{ status: { token: string } }>(`${account}/token`, { method: "POST", body: {} });
    await api.json(bindings, {
      method: "POST",
      body: {
        metadata: { name: "robot" },
        subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "default" }],
        roleRef: { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "cluster-admin" },
      },
    });
    const ask = () => api.send(`${account}?resourceVersion=0`, { token: status.token });
    assert.equal((await ask()).status, 200);

    store.reload();
    assert.equal((await api.send(`${bindings}/robot`, { method: "DELETE" })).status, 200);
    const asked = ask();
    await nextTurn();
    store.loaded?.resolve();
    assert.equal((await asked).status, 403);
  });
});
