import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { nodeLifecycle } from "../../../src/features/nodes/node-lifecycle.ts";
import type { Event } from "../../../src/features/core/index.ts";
import type { Node } from "../../../src/features/nodes/resources.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { ManualTime } from "../../manual-time.ts";
import { runLoop } from "../../run-loop.ts";
import type { RunningLoop } from "../../run-loop.ts";
import { resourceReferences } from "../../resource-references.ts";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";

const references = resourceReferences(names);
const sparse = (object: object): never => object as never; // the server fills in the rest
const seconds = 1000;

let time: ManualTime;
let server: TestServer;
let loop: RunningLoop;
beforeEach(async () => {
  time = new ManualTime(Date.parse("2026-01-11T00:00:00Z"));
  server = await startTestServer({ settings: { controllers: false }, clock: time.clock });
  const nodes = server.client.resource(references.nodes);
  await nodes.create(
    sparse({ metadata: { name: "edge-1" }, spec: { taints: [{ key: "own", effect: "NoSchedule" }] } }),
  );
  await report("True");
  await leases().create(
    sparse({
      metadata: { name: "edge-1" },
      spec: { holderIdentity: "edge-1", renewTime: "2026-01-01T00:00:00.000000Z" },
    }),
  );
  const settings = { graceMilliseconds: 50 * seconds, retentionMilliseconds: 600 * seconds };
  loop = await runLoop(server, nodeLifecycle(settings), { time });
  await loop.queue.whenIdle();
});
afterEach(async () => {
  await loop.stop();
  await server.stop();
});

const leases = () => server.client.resource(references.leases, names.namespaces.nodeLease);
const report = (status: string, lastHeartbeatTime = "2026-01-01T00:00:00Z"): Promise<unknown> =>
  server.client.resource(references.nodes).patch("edge-1", {
    body: { status: { conditions: [{ type: "Ready", status, reason: "Test", lastHeartbeatTime }] } },
    type: "strategic-merge",
    subresource: "status",
  });
const renew = (renewTime: string): Promise<unknown> => leases().patch("edge-1", { body: { spec: { renewTime } } });

const readyOf = (node: Node | undefined) => node?.status.conditions?.find(({ type }) => type === "Ready");
const taintsOf = (node: Node | undefined): string[] =>
  (node?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
const lostTaints = ["node.platform.io/unreachable:NoSchedule", "node.platform.io/unreachable:NoExecute"];
/** Time passes meanwhile, by milliseconds: the loop tries again after a conflict, when its copy of a node was old. */
const soon = <T extends object>(what: string, look: () => Promise<T | undefined>): Promise<T> =>
  eventually<T | undefined>(what, async () => {
    const found = await look();
    if (found === undefined) time.pass(1);
    return found;
  });
const node = async (isAsWanted: (found: Node | undefined) => boolean): Promise<Node | undefined> => {
  const awaited = await soon("edge-1 is as wanted", async () => {
    const found = await server.client.resource(references.nodes).find("edge-1");
    return isAsWanted(found) ? { found } : undefined;
  });
  return awaited.found;
};
const isLost = (found: Node | undefined): boolean => taintsOf(found).includes(lostTaints[0] ?? "");
const event = (reason: string): Promise<Event> =>
  soon(`there is an event ${reason}`, async () => {
    const { items } = await server.client.resource(references.events, "default").list();
    return items.find((one) => one.reason === reason && one.involvedObject.name === "edge-1");
  });

describe("the taint of a node that is not ready", () => {
  const taint = "node.platform.io/not-ready:NoSchedule";
  const isTainted = (found: Node | undefined): boolean => taintsOf(found).includes(taint);

  it("is on every new Node, in either spelling, and stays until it reports that it is ready", async () => {
    const nodes = server.client.resource(references.nodes);
    const made = await nodes.create(sparse({ metadata: { name: "new" } }));
    assert.deepEqual(taintsOf(made), [taint]);
    await loop.queue.whenIdle();
    assert.deepEqual(taintsOf(await nodes.get("new")), [taint]);
    const own = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
    const sent = await nodes.create(sparse({ metadata: { name: "sent" }, spec: { taints: [own] } }));
    assert.deepEqual(taintsOf(sent), ["node.kubernetes.io/not-ready:NoSchedule"]);
  });

  it("goes when the node is ready, and comes back when it is not", async () => {
    assert.deepEqual(taintsOf(await node((found) => !isTainted(found))), ["own:NoSchedule"]);
    await report("False");
    assert.deepEqual(taintsOf(await node(isTainted)), ["own:NoSchedule", taint]);
    await report("True");
    assert.deepEqual(taintsOf(await node((found) => !isTainted(found))), ["own:NoSchedule"]);
    await server.client.resource(references.nodes).patch("edge-1", { body: { spec: { taints: null } } });
    await report("False");
    assert.deepEqual(taintsOf(await node(isTainted)), [taint]);
  });
});

describe("the taints of a node by its other conditions", () => {
  const taintNames = ["unschedulable", "memory-pressure", "disk-pressure", "network-unavailable", "pid-pressure"];
  const taints = taintNames.map((name) => `node.platform.io/${name}:NoSchedule`);
  const conditions = (status: string) =>
    ["MemoryPressure", "DiskPressure", "NetworkUnavailable", "PIDPressure"].map((type) => ({ type, status }));
  const change = async (status: string, unschedulable: boolean): Promise<void> => {
    const nodes = server.client.resource(references.nodes);
    const body = { status: { conditions: conditions(status) } };
    await nodes.patch("edge-1", { body, type: "strategic-merge", subresource: "status" });
    await nodes.patch("edge-1", { body: { spec: { unschedulable } } });
  };
  const hasTaints = (found: Node | undefined): boolean => taints.every((one) => taintsOf(found).includes(one));
  const hasNone = (found: Node | undefined): boolean => !taints.some((one) => taintsOf(found).includes(one));

  it("come when it reports them or is cordoned, and go again; those that others set stay", async () => {
    await node((found) => taintsOf(found).length === 1);
    await change("True", true);
    assert.deepEqual(taintsOf(await node(hasTaints)).sort(), ["own:NoSchedule", ...taints].sort());
    await change("Unknown", false);
    assert.deepEqual(taintsOf(await node(hasNone)), ["own:NoSchedule"]);
  });

  it("come back when a person takes them away", async () => {
    await server.client.resource(references.nodes).patch("edge-1", { body: { spec: { unschedulable: true } } });
    await node((found) => taintsOf(found).includes(taints[0] ?? ""));
    await server.client.resource(references.nodes).patch("edge-1", { body: { spec: { taints: null } } });
    assert.deepEqual(taintsOf(await node((found) => taintsOf(found).length > 0)), [taints[0]]);
  });

  it("come on a node that has never said whether it is ready", async () => {
    const nodes = server.client.resource(references.nodes);
    await nodes.create(sparse({ metadata: { name: "new" }, spec: { unschedulable: true } }));
    const tainted = await waitForObject(server.client, references.nodes, { name: "new" }, (found) =>
      taintsOf(found).includes(taints[0] ?? ""),
    );
    assert.deepEqual(taintsOf(tainted), ["node.platform.io/not-ready:NoSchedule", taints[0]]);
  });
});

describe("a node without a heartbeat", () => {
  it("is NotReady after the grace period, with taints, an event, and when it was last seen", async () => {
    time.pass(49 * seconds);
    await loop.queue.whenIdle();
    assert.equal(isLost(await server.client.resource(references.nodes).get("edge-1")), false);
    time.pass(2 * seconds);
    const lost = await node(isLost);
    const { status, reason, lastHeartbeatTime } = readyOf(lost) ?? {};
    assert.deepEqual([status, reason, lastHeartbeatTime], ["Unknown", "NodeStatusUnknown", "2026-01-01T00:00:00Z"]);
    assert.deepEqual(taintsOf(lost), ["own:NoSchedule", ...lostTaints]);
    await event("NodeNotReady");
    const table = await new InProcess(server).json<{
      columnDefinitions: { name: string }[];
      rows: { cells: string[] }[];
    }>("/api/v1/nodes", { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } });
    const cell = (name: string) => table.rows[0]?.cells[table.columnDefinitions.findIndex((one) => one.name === name)];
    assert.equal(cell("Status"), "NotReady");
    assert.equal(cell("Last-Seen"), "10d");
  });

  it("is NotReady after the grace period also while the server's clock is set back", async () => {
    time.setClock(-3600 * seconds);
    time.pass(51 * seconds);
    await node(isLost);
  });

  it("is not lost before the grace period has passed, when the server's clock is set forward", async () => {
    time.setClock(3600 * seconds);
    await server.client.resource(references.nodes).patch("edge-1", { body: { spec: { unschedulable: true } } });
    await node((found) => taintsOf(found).includes("node.platform.io/unschedulable:NoSchedule"));
    await loop.queue.whenIdle();
    assert.equal(isLost(await server.client.resource(references.nodes).get("edge-1")), false);
  });

  it("is not lost when it registers again, although its Lease was last renewed long ago, after the deletion of its Node", async () => {
    const nodes = server.client.resource(references.nodes);
    const { spec, status } = await nodes.get("edge-1");
    await nodes.delete("edge-1");
    await loop.queue.whenIdle();
    time.pass(60 * seconds);
    await loop.queue.whenIdle();
    await renew("2026-01-01T00:10:00.000000Z");
    time.pass(60 * seconds);
    await nodes.create(sparse({ metadata: { name: "edge-1" }, spec: { ...spec, unschedulable: true }, status }));
    await node((found) => taintsOf(found).includes("node.platform.io/unschedulable:NoSchedule"));
    await loop.queue.whenIdle();
    assert.equal(isLost(await nodes.get("edge-1")), false);
  });

  it("becomes ready again when its Lease is renewed", async () => {
    time.pass(51 * seconds);
    await node(isLost);
    await event("NodeNotReady");
    await renew("2026-01-01T00:10:00.000000Z");
    const back = await node((found) => found !== undefined && !isLost(found));
    assert.equal(readyOf(back)?.status, "True");
    assert.deepEqual(taintsOf(back), ["own:NoSchedule"]);
    assert.equal((await event("NodeReady")).message, "Node edge-1 status is now: NodeReady");
  });

  it("loses the taints of a lost node in upstream's spelling too, when it is heard of", async () => {
    const upstream = ["NoSchedule", "NoExecute"].map((effect) => ({ key: "node.kubernetes.io/unreachable", effect }));
    const taints = [{ key: "own", effect: "NoSchedule" }, ...upstream];
    const tainted = await server.client.resource(references.nodes).patch("edge-1", { body: { spec: { taints } } });
    assert.equal(tainted.spec.taints?.length, 3);
    await renew("2026-01-01T00:10:00.000000Z");
    assert.deepEqual(taintsOf(await node((found) => taintsOf(found).length === 1)), ["own:NoSchedule"]);
  });

  it("has an event that it is ready when its own status says so first", async () => {
    time.pass(51 * seconds);
    await node(isLost);
    await event("NodeNotReady");
    await report("True", "2026-01-01T00:10:00Z");
    const back = await node((found) => found !== undefined && !isLost(found));
    assert.equal(readyOf(back)?.reason, "Test");
    assert.equal((await event("NodeReady")).message, "Node edge-1 status is now: NodeReady");
  });

  it("has an event that it is not ready when it is back and its own status says so", async () => {
    await report("False");
    time.pass(102 * seconds);
    await loop.queue.whenIdle();
    time.pass(102 * seconds);
    await node(isLost);
    time.pass(10 * seconds);
    await report("False", "2026-01-01T00:10:00Z");
    await node((found) => found !== undefined && !isLost(found));
    const notReady = await soon("there are two events", async () => {
      const { items } = await server.client.resource(references.events, "default").list();
      const found = items.filter(({ reason }) => reason === "NodeNotReady");
      return found.length === 2 ? found : undefined;
    });
    assert.deepEqual(
      notReady.map(({ message }) => message),
      ["Node edge-1 status is now: NodeNotReady", "Node edge-1 status is now: NodeNotReady"],
    );
  });

  it("stays not ready when its own status says so", async () => {
    await report("False");
    time.pass(102 * seconds);
    await loop.queue.whenIdle();
    time.pass(102 * seconds);
    const lost = await node(isLost);
    assert.equal(readyOf(lost)?.status, "False");
  });

  it("is deleted after the configured time, and not before", async () => {
    time.pass(51 * seconds);
    await node(isLost);
    await event("NodeNotReady");
    await time.whenTimerIsSet();
    time.pass(590 * seconds);
    await loop.queue.whenIdle();
    assert.notEqual(await server.client.resource(references.nodes).find("edge-1"), undefined);
    time.pass(20 * seconds);
    await node((found) => found === undefined);
    await event("RemovingNode");
  });

  it("stays while the clock is ahead, until nothing was heard of it for the configured time or for an hour", async () => {
    time.pass(51 * seconds);
    await node(isLost);
    await event("NodeNotReady");
    time.setClock(30 * 86_400 * seconds);
    loop.queue.add("edge-1");
    await loop.queue.whenIdle();
    time.pass(540 * seconds);
    await loop.queue.whenIdle();
    assert.notEqual(await server.client.resource(references.nodes).find("edge-1"), undefined);
    time.pass(20 * seconds);
    await node((found) => found === undefined);
  });
});
