import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventually } from "../../../end-to-end/eventually.ts";
import { InProcess } from "../../../server/in-process.ts";
import type { SentRequest } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";

const apiVersion = "storage.k8s.io/v1";
const csiNodes = `/apis/${apiVersion}/csinodes`;
const disks = { name: "disks.example.com", nodeID: "machine-1", topologyKeys: ["example.com/rack"] };

describe("what a kubelet needs before its Node is ready", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-csi-nodes-"));
  let server: TestServer;
  let http: InProcess;
  before(async () => {
    const tokenFile = join(folder, "tokens.csv");
    const users = 'test-administrator,admin,1,"system:masters"\nn1,system:node:n1,2,"system:nodes"\n';
    writeFileSync(tokenFile, users, { mode: 0o600 });
    server = await startTestServer({ profile: "kubernetes", tokenFile });
    http = new InProcess(server);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  interface Answer {
    readonly code?: number;
    readonly message?: string;
    readonly status?: unknown;
    readonly spec?: unknown;
    readonly items?: readonly unknown[];
    readonly metadata: { readonly uid: string };
  }
  const asNode = (path: string, sent: SentRequest = {}): Promise<Answer> =>
    http.json<Answer>(path, { token: "n1", ...sent });
  const csiNode = (name: string, ...drivers: readonly object[]) => ({
    ...{ apiVersion, kind: "CSINode" },
    metadata: { name },
    spec: { drivers },
  });

  it("includes a CSINode that it reads, creates and changes", async () => {
    assert.equal((await asNode(`${csiNodes}/n1?resourceVersion=0`)).code, 404);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    const { uid } = (await asNode("/api/v1/nodes", { method: "POST", body: node })).metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n1", uid }];
    const body = { ...csiNode("n1"), metadata: { name: "n1", ownerReferences } };
    const created = await asNode(csiNodes, { method: "POST", body });
    assert.deepEqual([created.spec, created.status], [{ drivers: null }, {}]);
    const registered = { ...created, spec: { drivers: [disks] }, status: { storageHealth: [{ name: disks.name }] } };
    const updated = await asNode(`${csiNodes}/n1`, { method: "PUT", body: registered });
    assert.deepEqual([updated.spec, updated.status], [{ drivers: [disks] }, {}]);
    const fewer = { ...updated, spec: { drivers: [{ ...disks, allocatable: { count: 3 } }] } };
    const counted = await asNode(`${csiNodes}/n1`, { method: "PUT", body: fewer });
    assert.deepEqual(counted.spec, fewer.spec);
    const moved = { ...counted, spec: { drivers: [{ ...disks, nodeID: "machine-2" }] } };
    const { code, message } = await asNode(`${csiNodes}/n1`, { method: "PUT", body: moved });
    assert.equal(code, 422);
    assert.match(
      message ?? "",
      /^CSINode\.storage\.k8s\.io "n1" is invalid: spec\.drivers: .*"Allocatable":null\}: field is immutable$/,
    );
  });

  it("does not include another machine's CSINode", async () => {
    const refusal = /can only access CSINode with the same name as the requesting node$/;
    assert.match((await asNode(csiNodes, { method: "POST", body: csiNode("n2") })).message ?? "", refusal);
    assert.match((await asNode(`${csiNodes}/n2`)).message ?? "", refusal);
    assert.match((await asNode(csiNodes)).message ?? "", /can only get, create, update, patch, or delete a CSINode$/);
  });

  it("includes a CSINode whose drivers have names, topology keys and counts", async () => {
    const wrong = { name: "a b", nodeID: "", topologyKeys: ["", "b c"], allocatable: { count: -1 } };
    const { message } = await http.json<Answer>(csiNodes, {
      method: "POST",
      body: csiNode("n3", wrong, { ...wrong, nodeID: "m".repeat(257) }),
    });
    for (const field of [
      "[0].name: Invalid value",
      "[0].nodeID: Required value",
      "[0]: Required value",
      '[0]: Invalid value: "b c"',
      "[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
      "[1].name: Duplicate value",
      "must be 256 characters or less",
    ]) {
      assert.ok(message?.includes(field), `${field}: ${message}`);
    }
  });

  it("includes the list of Services with an address, which is empty", async () => {
    assert.deepEqual((await asNode("/api/v1/services?fieldSelector=spec.clusterIP!%3DNone")).items, []);
  });

  it("is deleted with its Node", async () => {
    await http.json("/api/v1/nodes/n1", { method: "DELETE" });
    await eventually("the CSINode is gone", async () => (await http.send(`${csiNodes}/n1`)).status === 404);
  });
});
