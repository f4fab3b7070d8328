import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

describe("a client that writes only the first of several values", () => {
  let server: TestServer;
  let http: InProcess;
  before(async () => {
    server = await startTestServer();
    http = new InProcess(server);
  });

  const nodes = "/api/v1/nodes";
  const pod = "/api/v1/namespaces/default/pods/p";
  interface Answer {
    readonly spec: Readonly<Record<string, unknown>>;
    readonly status: Readonly<Record<string, unknown>>;
  }
  const send = (method: string, path: string, body: object): Promise<Answer> =>
    http.json<Answer>(path, { method, body, headers: { "content-type": "application/merge-patch+json" } });
  const post = (path: string, body: object): Promise<Answer> => http.json<Answer>(path, { method: "POST", body });

  it("sets all ranges of a Node with the first", async () => {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec: { podCIDR: "10.0.0.0/24" } };
    const { spec } = await post(nodes, node);
    assert.partialDeepStrictEqual(spec, { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] });
    const both = ["10.0.1.0/24", "fd00::/64"];
    const other = await post(nodes, { ...node, metadata: { name: "m" }, spec: { podCIDRs: both } });
    assert.partialDeepStrictEqual(other.spec, { podCIDR: "10.0.1.0/24", podCIDRs: both });
  });

  it("sets the allocatable resources of a Node with its capacity", async () => {
    const capacity = { cpu: "2" };
    const { status } = await send("PATCH", `${nodes}/n/status`, { status: { capacity } });
    assert.deepEqual([status["capacity"], status["allocatable"]], [capacity, capacity]);
    const larger = await send("PATCH", `${nodes}/n/status`, { status: { capacity: { cpu: "3" } } });
    assert.deepEqual([larger.status["capacity"], larger.status["allocatable"]], [{ cpu: "3" }, capacity]);
  });

  it("sets all addresses of a Pod with the first", async () => {
    const spec = { containers: [{ name: "c", image: "i" }] };
    await post("/api/v1/namespaces/default/pods", { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
    for (const podIP of ["10.0.0.1", "10.0.0.2"]) {
      const { status } = await send("PATCH", `${pod}/status`, { status: { podIP } });
      assert.deepEqual([status["podIP"], status["podIPs"]], [podIP, [{ ip: podIP }]]);
    }
  });
});
