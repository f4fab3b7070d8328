/** A controller and its test. Run it with Node.js 26: node --test robots.test.ts */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Informer, namespaceResource, platformNames, serviceAccountResource, WorkQueue } from "signet/client";
import type { ApiClient } from "signet/client";
import { startServer } from "signet/testing";

/** The controller: every namespace with the label `robot` gets a ServiceAccount of that name. */
async function runRobots(client: ApiClient, signal: AbortSignal): Promise<void> {
  const namespaces = new Informer(client.resource(namespaceResource(platformNames)), {
    selectors: { labelSelector: "robot" },
  });
  const queue = new WorkQueue({
    reconcile: async (namespace) => {
      const name = namespaces.get(namespace)?.metadata.labels?.["robot"];
      const accounts = client.resource(serviceAccountResource(platformNames), namespace);
      if (name === undefined || (await accounts.find(name)) !== undefined) return;
      await accounts.create({ metadata: { name } });
    },
    onError: (namespace, error) => console.error(namespace, error),
  });
  const add = ({ metadata }: { metadata: { name?: string } }): void => queue.add(metadata.name ?? "");
  namespaces.addHandler({ onAdd: add, onUpdate: add });
  await namespaces.start(signal);
}

test("a namespace that asks for a robot gets one", async () => {
  await using server = await startServer();
  const stop = new AbortController();
  await runRobots(server.client, stop.signal);

  const namespaces = server.client.resource(namespaceResource(platformNames));
  await namespaces.create({ metadata: { name: "factory", labels: { robot: "welder" } }, spec: {} });

  // The watch starts from the beginning, so it delivers the account even if the controller was faster.
  const accounts = server.client.resource(serviceAccountResource(platformNames), "factory");
  for await (const { type, object } of accounts.watch({ resourceVersion: "0" }, stop.signal)) {
    if (type === "ADDED" && object.metadata.name === "welder") break;
  }
  assert.equal((await accounts.get("welder")).metadata.namespace, "factory");
  stop.abort();
});
