import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { podGarbageCollector } from "../../../../src/features/nodes/pods/pod-garbage-collector.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import type { WriteRequest, WriteResult } from "../../../../src/machinery/storage/store.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import type { RunningLoop } from "../../../run-loop.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { waitForObject } from "../../../wait-for-object.ts";

const references = resourceReferences(platformNames);
const sparse = (object: object): never => object as never; // the server fills in the rest
const time = new ManualTime();
let server: TestServer;
let loop: RunningLoop;
before(async () => {
  server = await startTestServer({ settings: { controllers: false } });
  for (const name of ["gone", "gone-too", "kept"])
    await server.client.resource(references.nodes).create(sparse({ metadata: { name } }));
  loop = await runLoop(server, podGarbageCollector, { time });
});
after(async () => {
  await loop.stop();
  await server.stop();
});

const pods = () => server.client.resource(references.pods, "default");
const pod = (name: string, nodeName?: string): never =>
  sparse({ metadata: { name }, spec: { nodeName, containers: [{ name: "main", image: "worker:1" }] } });

describe("a Pod whose Node is gone", () => {
  it("is removed after 40 s, and no other Pod is", async () => {
    await server.client.request("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
    });
    for (const [name, node] of [["one", "gone"], ["two", "gone"], ["three", "kept"], ["four"]] as const) {
      await pods().create(pod(name, node));
    }
    await server.client.resource(references.nodes).delete("gone");
    await time.whenTimerIsSet();
    assert.notEqual(await pods().find("one"), undefined);
    time.pass(40_000);
    await waitForObject(
      server.client,
      references.pods,
      { namespace: "default", name: "one" },
      (found) => found === undefined,
    );
    await waitForObject(
      server.client,
      references.pods,
      { namespace: "default", name: "two" },
      (found) => found === undefined,
    );
    assert.notEqual(await pods().find("three"), undefined);
    assert.notEqual(await pods().find("four"), undefined);
  });

  it("is removed after 40 s also while the server's clock is set back", async () => {
    await pods().create(pod("five", "gone-too"));
    await server.client.resource(references.nodes).delete("gone-too");
    await time.whenTimerIsSet();
    time.setClock(-3_600_000);
    time.pass(40_000);
    await loop.queue.whenIdle();
    assert.equal(await pods().find("five"), undefined);
  });

  it("is removed after 40 s also when others of the same Node were removed before it was bound", async () => {
    await pods().create(pod("six", "gone-too"));
    await loop.queue.whenIdle();
    assert.notEqual(await pods().find("six"), undefined);
    time.pass(40_000);
    await loop.queue.whenIdle();
    assert.equal(await pods().find("six"), undefined);
  });
});

describe("a Pod whose deletion was interrupted", () => {
  /** Fails when a Pod is to be removed, after the write that says so. */
  class InterruptedStore extends MemoryStore {
    isInterrupted = true;

    override async write(request: WriteRequest): Promise<WriteResult> {
      if (this.isInterrupted && request.value === undefined) throw new StoreUnavailable("interrupted");
      return super.write(request);
    }
  }

  it("is removed ten seconds later", async (context) => {
    const store = new InterruptedStore();
    const interrupted = await startTestServer({ settings: { controllers: false }, store });
    const ownTime = new ManualTime();
    const ownLoop = await runLoop(interrupted, podGarbageCollector, { time: ownTime });
    context.after(async () => {
      await ownLoop.stop();
      await interrupted.stop();
    });
    const all = interrupted.client.resource(references.pods, "default");
    await interrupted.client
      .resource(references.serviceAccounts, "default")
      .create(sparse({ metadata: { name: "default" } }));
    await all.create(pod("left"));
    await assert.rejects(all.delete("left"));
    assert.equal((await all.find("left"))?.metadata.deletionGracePeriodSeconds, 0);
    store.isInterrupted = false;
    await ownTime.whenTimerIsSet();
    ownTime.pass(10_000);
    const place = { namespace: "default", name: "left" };
    await waitForObject(interrupted.client, references.pods, place, (found) => found === undefined);
  });
});

describe("a new Pod", () => {
  it("comes with a warning that nothing runs it, unless it names its Node", async () => {
    const create = async (body: object): Promise<unknown> =>
      (
        await new InProcess(server).send("/api/v1/namespaces/default/pods", {
          method: "POST",
          body: JSON.stringify(body),
        })
      ).headers["warning"];
    assert.match(String(await create(pod("five"))), /nothing runs Pods here/);
    assert.equal(await create(pod("six", "kept")), undefined);
  });
});
