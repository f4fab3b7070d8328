import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentSettings } from "../../../src/agent/agent-settings.ts";
import { NodeIdentity } from "../../../src/agent/connection/node-identity.ts";
import { ServerClock } from "../../../src/agent/connection/server-clock.ts";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { sleep, systemClock } from "../../../src/machinery/api/clock.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { startTestServer } from "../../test-server.ts";
import { newPair } from "../new-pair.ts";
import { settingsOf } from "../settings-of.ts";

test("a refused certificate and a refused token are tried in turn, and the one that works again is kept", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  let token = "abcdef.0123456789abcdef";
  const pair = newPair({ notBefore: Date.now() - 1000, notAfter: Date.now() + 1e9 });
  const identity = identityAt(server, { type: "token", source: "/run/token", token: () => token });
  identity.useCertificate(pair);
  context.after(() => {
    identity.connection.close();
    return server.stop();
  });
  const { node, bootstrap } = identity.connection;
  const refusals = new Set<string>();
  const ask = async (): Promise<ApiClient | undefined> => {
    const client = identity.requestClient();
    await client?.request("/apis").catch((error: unknown) => {
      assert.ok(error instanceof ApiError && error.code === 401);
      refusals.add(error.message.replace(/[0-9a-f]{30,}/, "SERIAL").replace(/until .*Z/, "until END"));
    });
    return client;
  };
  assert.ok(identity.isEstablished);
  assert.equal(await ask(), node);
  assert.ok(!identity.isEstablished);
  assert.equal(await ask(), bootstrap);
  assert.ok(identity.connection.isRefused(pair), "the token's refusal makes it no better");
  assert.equal(await ask(), node);
  assert.equal(await ask(), bootstrap);
  assert.equal(await ask(), node);
  token = server.adminToken;
  assert.equal(await ask(), bootstrap);
  assert.equal(await ask(), bootstrap);
  assert.deepEqual(
    [...refusals],
    [
      "the server does not accept the node's client certificate SERIAL, which is valid until END (401): the node is locked, or it was revoked or has expired, or its CA is not one that the server accepts any more: the bootstrap credential is used",
      "the server does not accept the bootstrap token abcdef of /run/token (401): it is unknown, was deleted or has expired: make another one with signet bootstrap-token create --allow-existing-node",
    ],
  );
});

test("a refused certificate without a bootstrap credential says how to give the agent one", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const ways: readonly (readonly [AgentSettings["bootstrap"], string])[] = [
    [
      { type: "none" },
      "give the agent a token of signet bootstrap-token create --allow-existing-node with --bootstrap-token-file",
    ],
    [
      { type: "token file", source: "/run/token", token: () => undefined },
      "put a token of signet bootstrap-token create --allow-existing-node into /run/token",
    ],
  ];
  for (const [bootstrap, way] of ways) {
    const identity = identityAt(server, bootstrap);
    context.after(() => identity.connection.close());
    identity.useCertificate(newPair({ notBefore: Date.now() - 2000, notAfter: Date.now() - 1000 }));
    assert.equal(identity.requestClient(), identity.connection.node);
    await assert.rejects(
      identity.connection.node.request("/apis"),
      (error: Error) => error.message.includes("which expired") && error.message.endsWith(`: ${way}`),
    );
  }
});

test("a certificate that is not valid yet is refused with its beginning and the present time", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const identity = identityAt(server, { type: "none" });
  context.after(() => identity.connection.close());
  identity.useCertificate(newPair({ notBefore: Date.UTC(2200, 0), notAfter: Date.UTC(2201, 0) }));
  await assert.rejects(
    identity.connection.node.request("/apis"),
    /which is only valid from 2200-01-01T00:00:00.000Z on, and it is 20/,
  );
});

const identityAt = (
  { url, caCertificates }: { readonly url: string; readonly caCertificates: string },
  bootstrap: AgentSettings["bootstrap"],
): NodeIdentity =>
  new NodeIdentity({
    settings: settingsOf({ servers: [url], caCertificates: () => caCertificates, bootstrap, dataDirectory: "" }),
    serverClock: new ServerClock({
      local: systemClock,
      monotonic: performance,
      onSkew: () => assert.fail("the clock is right"),
    }),
    monotonic: performance,
    sleep,
    userAgent: "test",
  });
