import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";

describe("a server with the authorizer AlwaysAllow", () => {
  const settings = [
    { "authorization-mode": "AlwaysAllow" },
    { "authorization-mode": "AlwaysAllow", "anonymous-auth": true },
    { "authorization-mode": "Node,RBAC,AlwaysAllow" },
    { "authorization-mode": "AlwaysAllow,RBAC", "anonymous-auth": "true" },
  ];
  for (const setting of settings) {
    it(`answers anonymous requests 401: ${JSON.stringify(setting)}`, async () => {
      const server = await startTestServer({ settings: setting });
      const caller = new InProcess(server);
      for (const path of ["/api/v1/secrets", "/api/v1/namespaces", "/version", "/livez"]) {
        assert.equal((await caller.send(path, { token: "" })).status, 401, path);
        assert.equal((await caller.send(path)).status, 200, path);
      }
      const created = await caller.send("/api/v1/namespaces", { token: "", method: "POST", body: {} });
      assert.equal(created.status, 401);
    });
  }

  it("leaves anonymous requests to RBAC with other authorizers", async () => {
    const server = await startTestServer();
    const caller = new InProcess(server);
    assert.equal((await caller.send("/livez", { token: "" })).status, 200);
    assert.equal((await caller.send("/api/v1/secrets", { token: "" })).status, 403);
  });
});
