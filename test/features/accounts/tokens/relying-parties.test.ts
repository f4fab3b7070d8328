import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { accountSettings, accountFlags } from "../../../../src/features/accounts/settings.ts";
import { resolveFlags, UsageError } from "../../../../src/machinery/command-line/settings/flag.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { InProcess } from "../../../server/in-process.ts";

const issuer = "https://tokens.example.com";
const keySet = "/openid/v1/jwks";

async function newToken(server: TestServer, name: string): Promise<string> {
  const account = "/api/v1/namespaces/default/serviceaccounts";
  await server.client.request(account, {
    method: "POST",
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
  });
  const { status } = await server.client.request<{ status: { token: string } }>(`${account}/${name}/token`, {
    method: "POST",
    body: {
      apiVersion: "authentication.platform.io/v1",
      kind: "TokenRequest",
      spec: { audiences: ["vault"], expirationSeconds: 600 },
    },
  });
  return status.token;
}

describe("a relying party", () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "signet-relying-"));
  const settings = { controllers: false, "service-account-issuer": [issuer] };
  let oldToken = "";
  let server: TestServer;
  before(async () => {
    const first = await startTestServer({ settings, dataDirectory, storage: "lmdb" });
    oldToken = await newToken(first, "before");
    await first.stop();
    server = await startTestServer({
      dataDirectory,
      storage: "lmdb",
      settings: {
        ...settings,
        "service-account-signing-algorithm": "RS256",
        "service-account-jwks-uri": `${issuer}/keys`,
        "service-account-public-discovery": true,
      },
    });
  });
  after(async () => {
    await server.stop();
    rmSync(dataDirectory, { recursive: true });
  });

  it("finds the issuer and its keys without credentials", async () => {
    const document = await new InProcess(server).json<Record<string, unknown>>("/.well-known/openid-configuration", {
      token: "",
    });
    assert.equal(document["issuer"], issuer);
    assert.equal(document["jwks_uri"], `${issuer}/keys`);
    assert.deepEqual(document["id_token_signing_alg_values_supported"], ["ES256", "RS256"]);
  });

  it("verifies RS256 tokens, and those of the previous key, with the published keys", async () => {
    const keys = createLocalJWKSet(await new InProcess(server).json<JSONWebKeySet>(keySet, { token: "" }));
    for (const [token, alg] of [
      [await newToken(server, "after"), "RS256"],
      [oldToken, "ES256"],
    ] as const) {
      const { protectedHeader } = await jwtVerify(token, keys, { issuer, audience: "vault" });
      assert.equal(protectedHeader.alg, alg);
    }
  });

  it("gets the keys as application/json on request", async () => {
    const typeFor = async (accept: string): Promise<unknown> =>
      (await new InProcess(server).send(keySet, { token: "", headers: { accept } })).headers["content-type"];
    assert.equal(await typeFor("application/json"), "application/json");
    assert.equal(await typeFor("application/jwk-set+json, application/json"), "application/jwk-set+json");
    assert.equal(await typeFor("*/*"), "application/jwk-set+json");
    assert.equal((await new InProcess(server).send(keySet, { headers: { accept: "text/html" } })).status, 406);
  });
});

it("settings of the token issuer that contradict each other are refused", () => {
  const settingsOf = (file: Record<string, unknown>): unknown =>
    accountSettings(resolveFlags(accountFlags, { commandLine: {}, file }), "/nowhere");
  const refused = [
    { "service-account-signing-key-file": "a.pem", "service-account-signing-algorithm": "RS256" },
    { "service-account-signing-algorithm": "HS256" },
    { "service-account-jwks-uri": "http://tokens.example.com/keys" },
    { "service-account-jwks-uri": "keys" },
    { "service-account-jwks-uri": "https://ann:secret@tokens.example.com/keys" },
  ];
  for (const file of refused) assert.throws(() => settingsOf(file), UsageError);
});
