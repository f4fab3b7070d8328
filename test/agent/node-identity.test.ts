import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentSettings } from "../../src/agent/agent-settings.ts";
import { NodeIdentity } from "../../src/agent/node-identity.ts";
import { ServerClock } from "../../src/agent/server-clock.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { systemClock } from "../../src/machinery/api/clock.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { startTestServer } from "../test-server.ts";
import { newPair } from "./new-pair.ts";

test("a certificate and a token that the server refuses take turns, and one that it takes again stays", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  let token = "abcdef.0123456789abcdef";
  const settings: AgentSettings = {
    server: server.url,
    caCertificates: () => server.caCertificates,
    bootstrap: { type: "token", token: () => token },
    nodeName: "n1",
    dataDirectory: "",
    listenAddress: "",
    port: 0,
    nodeIpAddresses: [],
    dnsNames: [],
    trustBundles: [],
    changeCommand: undefined,
    certificateLifetimeSeconds: undefined,
    logLevel: "silent",
  };
  const pair = newPair({ notBefore: Date.now() - 1000, notAfter: Date.now() + 1e9 });
  const identity = new NodeIdentity({
    settings,
    clientCertificate: () => pair,
    serverClock: new ServerClock({ local: systemClock, onSkew: () => assert.fail("the clock is right") }),
    localClock: systemClock,
    userAgent: "test",
  });
  context.after(() => {
    identity.connection.close();
    return server.stop();
  });
  const { node, bootstrap } = identity.connection;
  const ask = async (): Promise<ApiClient | undefined> => {
    const requestClient = identity.requestClient();
    await requestClient?.request("GET", "/apis").catch((error: unknown) => {
      assert.ok(error instanceof ApiError && error.code === 401);
    });
    return requestClient;
  };
  assert.ok(identity.isEstablished);
  assert.equal(await ask(), node);
  assert.ok(!identity.isEstablished);
  assert.equal(await ask(), bootstrap);
  assert.equal(await ask(), node);
  assert.equal(await ask(), bootstrap);
  assert.equal(await ask(), node);
  token = server.adminToken;
  assert.equal(await ask(), bootstrap);
  assert.equal(await ask(), bootstrap);
});
