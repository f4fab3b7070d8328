import assert from "node:assert/strict";
import { test } from "node:test";
import { garbageCollector } from "../../../../src/features/core/garbage-collection/garbage-collector.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../../../src/machinery/api/object-meta.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import type { Transport } from "../../../../src/machinery/client/transport.ts";
import { InformerSet } from "../../../../src/machinery/loops/informer-set.ts";
import type { InformerHandler } from "../../../../src/machinery/loops/informer.ts";
import { QueueCounts } from "../../../../src/machinery/loops/work-queue.ts";
import type { QueueCount, WorkQueue } from "../../../../src/machinery/loops/work-queue.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { atOnce, loopContext } from "../../../run-loop.ts";

const configMap = (metadata: ObjectMeta): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", ...metadata },
});

const noBody = (): AsyncIterable<Uint8Array> => ReadableStream.from<Uint8Array>([]);

interface FedCollector {
  /** Tells the collector of changes, as an informer does. */
  readonly handler: InformerHandler<ApiObject>;
  readonly queue: WorkQueue;
  readonly count: QueueCount;
}

/** A collector of ConfigMaps. Its requests go to `send`, and what it knows comes from the test. */
function feedCollector(send: Transport["send"]): FedCollector {
  const { configMaps } = resourceReferences(platformNames);
  const handlers: InformerHandler<ApiObject>[] = [];
  const client = new ApiClient({ send, close() {} });
  const informers = new InformerSet(client, {
    open: () => ({
      get: () => undefined,
      list: () => [].values(),
      addHandler: (added) => handlers.push(added),
      start: () => Promise.resolve(),
    }),
  });
  const queueCounts = new QueueCounts();
  const controller = garbageCollector({ resources: [configMaps] });
  const context = loopContext({ client, informers, queueCounts, schedule: atOnce });
  const { queue } = controller.start({ ...context, name: controller.name });
  const [handler] = handlers;
  assert.ok(handler);
  return { handler, queue, count: queueCounts.of(controller.name) };
}

const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "owner" }];

test("the garbage collector leaves turns to others while it looks at the many dependents of an owner that is gone", async () => {
  const { handler, queue, count } = feedCollector(() => Promise.reject(new Error("there is no server")));
  const owner = configMap({ name: "owner", uid: "owner", deletionTimestamp: "2026-01-01T00:00:00Z" });
  handler.onAdd?.(owner);
  const dependents = 50_000;
  for (let number = 1; number <= dependents; number++) {
    handler.onAdd?.(configMap({ name: `child-${number}`, uid: `child-${number}`, ownerReferences }));
  }
  await queue.whenIdle();
  assert.equal(count.adds, 1 + dependents);
  handler.onDelete?.(owner);
  const { adds } = count;
  await queue.stop();
  // Nobody adds so many keys within a turn of two milliseconds.
  assert.ok(adds < 1 + dependents + dependents, "all dependents were queued in one turn");
});

test("the garbage collector asks for the owners of an object again when its owners have changed, not at each heartbeat", async () => {
  const asked: string[] = [];
  const { handler, queue } = feedCollector(({ path }) => {
    asked.push(path.replace(/.*\//, ""));
    const owner = configMap({ name: "owner", uid: "owner" });
    return Promise.resolve({ status: 200, headers: {}, body: noBody(), value: owner });
  });
  const dependent = configMap({ name: "child", uid: "child", ownerReferences });
  const renewed = { ...dependent, metadata: { ...dependent.metadata, resourceVersion: "2" }, data: { renewed: "yes" } };
  const owners = [...ownerReferences, { ...ownerReferences[0], name: "other", uid: "other" }] as OwnerReference[];
  const adopted = { ...renewed, metadata: { ...renewed.metadata, ownerReferences: owners } };
  handler.onAdd?.(dependent);
  await queue.whenIdle();
  handler.onUpdate?.(renewed, dependent);
  await queue.whenIdle();
  assert.deepEqual(asked, ["owner"]);
  handler.onUpdate?.(adopted, renewed);
  await queue.whenIdle();
  assert.deepEqual(asked.slice(1, 3), ["owner", "other"]);
  await queue.stop();
});

test("the garbage collector deletes an object that was renewed while its owner was asked for", async () => {
  const dependent = configMap({ name: "child", uid: "child", ownerReferences, resourceVersion: "1" });
  const renewed = { ...dependent, metadata: { ...dependent.metadata, resourceVersion: "2" } };
  const deleted = Promise.withResolvers<unknown>();
  const { handler, queue } = feedCollector(({ method, body }) => {
    if (method === "GET") return Promise.resolve({ status: 404, headers: {}, body: noBody() });
    const { resourceVersion } = (body as { preconditions: { resourceVersion: string } }).preconditions; // the client's own
    const status = resourceVersion === "2" ? 200 : 409;
    if (status === 409) handler.onUpdate?.(renewed, dependent);
    else deleted.resolve(resourceVersion);
    return Promise.resolve({ status, headers: {}, body: noBody(), ...(status === 200 && { value: renewed }) });
  });
  handler.onAdd?.(dependent);
  assert.equal(await deleted.promise, "2");
  await queue.stop();
});
