import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LeaseHeartbeat } from "../../../src/agent/node/lease-heartbeat.ts";
import { nodeSystemInfo } from "../../../src/agent/node/machine.ts";
import type { NodeReport } from "../../../src/agent/node/node-registration.ts";
import { registerNode } from "../../../src/agent/node/node-registration.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { Profile } from "../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../resource-references.ts";
import { startTestServer } from "../../test-server.ts";
import { nodeClient } from "./node-client.ts";
import { logTo } from "../log-to.ts";
import { VirtualTime } from "../virtual-time.ts";

async function scene(profile: Profile = "platform") {
  const server = await startTestServer({ profile });
  const names = namesFor(profile);
  const references = resourceReferences(names);
  const client = nodeClient(server, "n1");
  const log = logTo(() => {});
  let known: Awaited<ReturnType<typeof registerNode>> | undefined;
  return {
    names,
    client,
    references,
    admin: server.client,
    nodes: server.client.resource(references.nodes),
    leases: server.client.resource(references.leases, names.namespaces.nodeLease),
    /** As the node. */
    nodeLeases: client.resource(references.leases, names.namespaces.nodeLease),
    async register(report: Partial<NodeReport> = {}) {
      const options = { names, nodes: client.resource(references.nodes), log, known };
      known = await registerNode(options, { ...usual, ...report });
      return known;
    },
  };
}

const usual: NodeReport = {
  nodeName: "n1",
  machine: { dnsNames: ["n1", "n1.example"], ipAddresses: ["10.0.0.1", "10.0.0.2"] },
  nodeInfo: nodeSystemInfo("signet-agent/test"),
  port: 10_250,
  isReady: false,
  now: Date.UTC(2026, 0),
};

describe("a node's registration", () => {
  it("reports the addresses and properties of the machine, in both naming profiles", async () => {
    for (const profile of ["platform", "kubernetes"] as const) {
      const { register, nodes, names } = await scene(profile);
      await register();
      const { metadata, status } = await nodes.get("n1");
      assert.equal(metadata.labels?.[names.key("hostname")], "n1");
      assert.deepEqual(status.addresses, [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "InternalIP", address: "10.0.0.2" },
        { type: "Hostname", address: "n1" },
        { type: "InternalDNS", address: "n1.example" },
      ]);
      assert.equal(status.daemonEndpoints.kubeletEndpoint.Port, 10_250);
      assert.equal(status.nodeInfo.kubeletVersion, "signet-agent/test");
      assert.equal(status.conditions?.[0]?.reason, "CertificatesPending");
    }
  });

  it("replaces its addresses, keeps conditions of others, and sets the time when its own changes", async () => {
    const { register, nodes } = await scene();
    await register();
    await nodes.patch("n1", {
      body: { status: { conditions: [{ type: "DiskFine", status: "True" }] } },
      type: "strategic-merge",
      subresource: "status",
    });
    await register({ now: Date.UTC(2026, 1) });
    const ready = async () => (await nodes.get("n1")).status.conditions?.find(({ type }) => type === "Ready");
    assert.equal((await ready())?.lastTransitionTime, "2026-01-01T00:00:00Z");
    assert.equal((await ready())?.lastHeartbeatTime, "2026-02-01T00:00:00Z");
    const machine = { dnsNames: ["n1"], ipAddresses: ["10.0.0.3"] };
    await register({ now: Date.UTC(2026, 2), isReady: true, machine });
    assert.equal((await ready())?.lastTransitionTime, "2026-03-01T00:00:00Z");
    const { status } = await nodes.get("n1");
    assert.deepEqual(status.addresses, [
      { type: "InternalIP", address: "10.0.0.3" },
      { type: "Hostname", address: "n1" },
    ]);
    assert.deepEqual(status.conditions?.map(({ type }) => type).sort(), ["DiskFine", "Ready"]);
  });

  it("is repeated after the Node was deleted", async () => {
    const { register, nodes } = await scene();
    const { uid } = (await register()).metadata;
    await nodes.delete("n1");
    assert.notEqual((await register()).metadata.uid, uid);
  });

  it("reads the Node again when another client has changed it", async () => {
    const { register, nodes } = await scene();
    await register({ isReady: true });
    await nodes.patch("n1", {
      body: {
        status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: "2026-01-01T00:00:30Z" }] },
      },
      type: "strategic-merge",
      subresource: "status",
    });
    const { status } = await register({ isReady: true, now: Date.UTC(2026, 0) + 60_000 });
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    assert.deepEqual([ready?.status, ready?.lastTransitionTime], ["True", "2026-01-01T00:01:00Z"]);
  });
});

describe("a node's heartbeat", () => {
  const heartbeatOf = (
    { names, nodeLeases, register }: Awaited<ReturnType<typeof scene>>,
    time: VirtualTime,
  ): LeaseHeartbeat =>
    new LeaseHeartbeat({
      names,
      nodeName: "n1",
      leaseDurationSeconds: 120,
      leases: nodeLeases,
      clock: time,
      registeredNodeUid: async () => (await register()).metadata.uid,
    });

  it("creates its Lease, renews it, and survives others' writes and deletions", async () => {
    const parts = await scene();
    const { leases, nodes } = parts;
    const time = new VirtualTime(Date.UTC(2026, 0));
    const heartbeat = heartbeatOf(parts, time);
    const beatAt = async (milliseconds: number) => {
      time.jump(milliseconds);
      await heartbeat.beat();
      return leases.get("n1");
    };
    const { metadata, spec } = await beatAt(0);
    const { uid } = (await nodes.get("n1")).metadata;
    assert.deepEqual(metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid }]);
    assert.deepEqual(spec, {
      holderIdentity: "n1",
      leaseDurationSeconds: 120,
      renewTime: "2026-01-01T00:00:00.000000Z",
    });
    assert.equal((await beatAt(10_000)).spec.renewTime, "2026-01-01T00:00:10.000000Z");
    await leases.patch("n1", { body: { metadata: { labels: { touched: "yes" } } } });
    const renewed = await beatAt(10_000);
    assert.equal(renewed.spec.renewTime, "2026-01-01T00:00:20.000000Z");
    assert.deepEqual(renewed.metadata.labels, { touched: "yes" });
    await leases.delete("n1");
    assert.equal((await beatAt(10_000)).spec.renewTime, "2026-01-01T00:00:30.000000Z");
    // A deleted Node takes its Lease along: both come back together.
    await nodes.delete("n1");
    await leases.delete("n1");
    const [owner] = (await beatAt(10_000)).metadata.ownerReferences ?? [];
    assert.equal(owner?.uid, (await nodes.get("n1")).metadata.uid);
    assert.notEqual(owner?.uid, uid);
  });

  it("notices the heartbeat of another agent for the same node, and its end", async () => {
    const parts = await scene();
    const time = new VirtualTime(Date.UTC(2026, 0));
    const [one, other] = [heartbeatOf(parts, time), heartbeatOf(parts, time)];
    const beat = async (...heartbeats: LeaseHeartbeat[]) => {
      for (const heartbeat of heartbeats) {
        time.jump(1000);
        await heartbeat.beat();
      }
      return one.isShared;
    };
    assert.equal(await beat(one, other, one, other), false);
    assert.equal(await beat(one), true);
    assert.equal(await beat(one), false);
  });

  it("does not take other changes of its Lease, or an answer that was lost, for another agent", async () => {
    const parts = await scene();
    const { leases, nodeLeases } = parts;
    const time = new VirtualTime(Date.UTC(2026, 0));
    const heartbeat = heartbeatOf(parts, time);
    await heartbeat.beat();
    for (let label = 0; label < 3; label++) {
      time.jump(1000);
      await leases.patch("n1", { body: { metadata: { labels: { label: String(label) } } } });
      await heartbeat.beat();
      assert.equal(heartbeat.isShared, false);
    }
    // The transport sends a request to the next server when the first gave no answer.
    const update = nodeLeases.update.bind(nodeLeases);
    for (let lost = 0; lost < 3; lost++) {
      time.jump(1000);
      nodeLeases.update = async (lease) => {
        nodeLeases.update = update;
        await update(lease);
        return update(lease);
      };
      await heartbeat.beat();
      assert.equal(heartbeat.isShared, false);
    }
  });
});
