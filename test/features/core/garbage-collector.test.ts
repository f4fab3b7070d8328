import assert from "node:assert/strict";
import { test } from "node:test";
import { garbageCollector } from "../../../src/features/core/garbage-collector.ts";
import type { ApiObject, ObjectMeta } from "../../../src/machinery/api/object-meta.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { InformerSet } from "../../../src/machinery/loops/informer.ts";
import type { InformerHandler } from "../../../src/machinery/loops/informer.ts";
import { QueueCounts } from "../../../src/machinery/loops/work-queue.ts";
import { resourceReferences } from "../../resource-references.ts";
import { loopContext } from "../../run-loop.ts";

const configMap = (metadata: ObjectMeta): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", ...metadata },
});

test("the garbage collector leaves turns to others while it looks at the many dependents of an owner that is gone", async () => {
  const { configMaps } = resourceReferences(platformNames);
  let handler: InformerHandler<ApiObject> | undefined;
  const client = new ApiClient({ send: () => Promise.reject(new Error("there is no server")), close() {} });
  const informers = new InformerSet(client, {
    open: () => ({
      get: () => undefined,
      list: () => [].values(),
      addHandler: (added) => (handler = added),
      start: () => Promise.resolve(),
    }),
  });
  const queueCounts = new QueueCounts();
  const { queue } = garbageCollector({ resources: [configMaps] }).start(
    loopContext({ client, informers, queueCounts }),
  );
  const owner = configMap({ name: "owner", uid: "owner", deletionTimestamp: "2026-01-01T00:00:00Z" });
  handler?.onAdd?.(owner);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "owner" }];
  const dependents = 50_000;
  for (let number = 1; number <= dependents; number++) {
    handler?.onAdd?.(configMap({ name: `child-${number}`, uid: `child-${number}`, ownerReferences }));
  }
  await queue.whenIdle();
  const count = queueCounts.of("garbagecollector");
  assert.equal(count.adds, 1 + dependents);
  handler?.onDelete?.(owner);
  const { adds } = count;
  await queue.stop();
  // Nobody adds so many keys within a turn of two milliseconds.
  assert.ok(adds < 1 + dependents + dependents, "all dependents were queued in one turn");
});
