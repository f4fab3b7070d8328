import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { CoreV1Api, KubeConfig, ListWatch, Watch } from "@kubernetes/client-node";
import type { V1ConfigMap } from "@kubernetes/client-node";
import { startCuttableProxy } from "../../reliability/soak/cuttable-proxy.ts";
import type { CuttableProxy } from "../../reliability/soak/cuttable-proxy.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

describe("the official JavaScript client's watches", () => {
  let server: TestServer;
  let proxy: CuttableProxy;
  /** Through the proxy. */
  let config: KubeConfig;
  let core: CoreV1Api;
  let namespace = "";
  let count = 0;

  before(async () => {
    server = await startTestServer();
    proxy = await startCuttableProxy(server.port);
    const direct = new KubeConfig();
    direct.loadFromFile(server.kubeconfigFile);
    core = direct.makeApiClient(CoreV1Api);
    const [cluster, user] = [direct.getCurrentCluster(), direct.getCurrentUser()];
    assert.ok(cluster && user);
    config = new KubeConfig();
    config.loadFromClusterAndUser({ ...cluster, server: `https://127.0.0.1:${proxy.port}` }, user);
  });
  after(async () => {
    await proxy.close();
    await server.stop();
  });
  beforeEach(async () => {
    namespace = `watched-${(count += 1)}`;
    await core.createNamespace({ body: { metadata: { name: namespace } } });
  });

  const labels = { watched: "yes" };
  const create = (name: string) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels } } });
  const remove = (name: string) => core.deleteNamespacedConfigMap({ namespace, name });

  it("see every change in order", async () => {
    const events = new EventLog();
    const list = await core.listNamespacedConfigMap({ namespace });
    const watch = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { labelSelector: "watched", resourceVersion: list.metadata?.resourceVersion },
      (type, object: V1ConfigMap) => events.add(`${type} ${object.metadata?.name}`),
      (error: unknown) => events.add(`ended ${String(error)}`),
    );
    await create("a");
    await core.replaceNamespacedConfigMap({
      namespace,
      name: "a",
      body: { metadata: { name: "a", labels }, data: { x: "1" } },
    });
    // What no longer fits the selector is gone for this watch.
    await core.replaceNamespacedConfigMap({ namespace, name: "a", body: { metadata: { name: "a" } } });
    await create("b");
    await remove("b");
    await events.until(5);
    assert.deepEqual(events.all, ["ADDED a", "MODIFIED a", "DELETED a", "ADDED b", "DELETED b"]);
    watch.abort();
  });

  it("end when the configured time of the server is over", async () => {
    const ended = Promise.withResolvers<unknown>();
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await new Watch(config).watch(path, { timeoutSeconds: 1 }, () => {}, ended.resolve);
    assert.equal(await ended.promise, null);
  });

  it("keep an informer's copy correct across cut connections", async () => {
    const events = new EventLog();
    const informer = new ListWatch<V1ConfigMap>(
      `/api/v1/namespaces/${namespace}/configmaps`,
      new Watch(config),
      () => config.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace, labelSelector: "watched" }),
      false,
      "watched",
      undefined,
      { delayFn: () => Promise.resolve() },
    );
    informer.on("add", ({ metadata }) => events.add(`add ${metadata?.name}`));
    informer.on("delete", ({ metadata }) => events.add(`delete ${metadata?.name}`));
    let isWanted = true;
    informer.on("error", () => void (isWanted && informer.start()));
    await create("a");
    await informer.start();
    await events.until(1);
    for (const [gone, came] of [
      ["a", "b"],
      ["b", "c"],
      ["c", "d"],
    ] as const) {
      proxy.detach();
      await remove(gone);
      await create(came);
      proxy.target(server.port);
      await events.untilSeen(`add ${came}`);
      await events.untilSeen(`delete ${gone}`);
      assert.deepEqual(
        informer.list().map(({ metadata }) => metadata?.name),
        [came],
      );
    }
    assert.deepEqual(events.all.toSorted(), [...new Set(events.all)].toSorted(), "nothing is told twice");
    isWanted = false;
    await informer.stop();
  });
});

/** What happened, in order, for those who wait for it. */
class EventLog {
  readonly all: string[] = [];
  #wake: () => void = () => {};

  add(event: string): void {
    this.all.push(event);
    this.#wake();
  }

  async until(length: number): Promise<void> {
    while (this.all.length < length) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  async untilSeen(event: string): Promise<void> {
    while (!this.all.includes(event)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
