import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

interface Answer {
  readonly code?: number;
  readonly message?: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

const group = "coordination.platform.io";
const leases = `/apis/${group}/v1/namespaces/default/leases`;
const election = { strategy: "OldestEmulationVersion", preferredHolder: "two" };

describe("the fields of a Lease for coordinated leader election", () => {
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    server = await startTestServer();
    api = new InProcess(server);
  });

  const write = (method: string, path: string, body: object): Promise<Answer> =>
    api.json(path, {
      method,
      body,
      ...(method === "PATCH" && { headers: { "content-type": "application/merge-patch+json" } }),
    });

  it("are dropped from a new Lease without validation", async () => {
    const spec = { holderIdentity: "one", strategy: "nonesuch", preferredHolder: "two" };
    const created = await write("POST", leases, { metadata: { name: "created" }, spec });
    assert.deepEqual(created.spec, { holderIdentity: "one" });
    const put = await write("PUT", `${leases}/put`, { metadata: { name: "put" }, spec });
    assert.deepEqual(put.spec, { holderIdentity: "one" });
  });

  it("are dropped from an update of a Lease without them", async () => {
    await write("POST", leases, { metadata: { name: "updated" }, spec: { holderIdentity: "one" } });
    const patched = await write("PATCH", `${leases}/updated`, { spec: { leaseTransitions: 1, ...election } });
    assert.deepEqual(patched.spec, { holderIdentity: "one", leaseTransitions: 1 });
  });

  it("are kept, changed and checked in a Lease that has them from an earlier version", async () => {
    const value = { metadata: { name: "early", namespace: "default", uid: "e" }, spec: election };
    const key = `/registry/leases.${group}/default/early`;
    await server.store.write({ key, value: Buffer.from(JSON.stringify(value)), expectedRevision: 0 });
    const patched = await write("PATCH", `${leases}/early`, { spec: { preferredHolder: "three" } });
    assert.deepEqual(patched.spec, { ...election, preferredHolder: "three" });
    const refused = await write("PATCH", `${leases}/early`, { spec: { strategy: null } });
    assert.equal(refused.code, 422);
    assert.match(
      refused.message ?? "",
      /spec\.preferredHolder: Forbidden: may only be specified if `strategy` is defined/,
    );
    const without = await write("PATCH", `${leases}/early`, { spec: { strategy: null, preferredHolder: null } });
    assert.deepEqual(without.spec, {});
    assert.deepEqual((await write("PATCH", `${leases}/early`, { spec: election })).spec, {});
  });
});
