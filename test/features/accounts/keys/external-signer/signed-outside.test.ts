import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { platformNames } from "../../../../../src/machinery/api/names.ts";
import { SealingKey } from "../../../../../src/machinery/keys/sealing-key.ts";
import { rotateTokenKey } from "../../../../../src/features/accounts/keys/rotate-token-key.ts";
import { InProcess } from "../../../../server/in-process.ts";
import { ManualTime } from "../../../../manual-time.ts";
import { startTestServer } from "../../../../test-server.ts";
import type { TestServer } from "../../../../test-server.ts";
import { socketFolder } from "../../../../socket-folder.ts";
import { JwtSigner, newSignerKey } from "./jwt-signer.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const reviews = "/apis/authentication.platform.io/v1/tokenreviews";

describe("tokens that an external signer signs", () => {
  const folder = socketFolder();
  const socket = join(folder, "signer.sock");
  const signer = new JwtSigner(socket);
  const time = new ManualTime();
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    await signer.start();
    server = await startTestServer({
      clock: time.clock,
      settings: { controllers: false, "service-account-signing-endpoint": socket },
    });
    api = new InProcess(server);
    await api.json(accounts, { method: "POST", body: { metadata: { name: "robot" } } });
  });
  after(async () => {
    await server.stop();
    signer.stop();
    rmSync(folder, { recursive: true });
  });

  const request = (expirationSeconds = 3600) =>
    api.send(`${accounts}/robot/token`, {
      method: "POST",
      body: { spec: { audiences: ["vault"], expirationSeconds } },
    });
  const newToken = async (): Promise<string> => {
    const { status, body } = await request();
    assert.equal(status, 201, String(body));
    return (JSON.parse(String(body)) as { status: { token: string } }).status.token;
  };
  const isGood = async (token: string): Promise<boolean> => {
    const { status } = await api.json<{ status: { authenticated?: boolean } }>(reviews, {
      method: "POST",
      body: { spec: { token, audiences: ["vault"] } },
    });
    return status.authenticated === true;
  };
  const keySet = (): Promise<JSONWebKeySet> => api.json<JSONWebKeySet>("/openid/v1/jwks");

  it("have its key id, and are valid for this server and for relying parties that read the key set", async () => {
    const token = await newToken();
    assert.deepEqual(decodeProtectedHeader(token), { alg: "ES256", kid: "first", typ: "JWT" });
    assert.equal(await isGood(token), true);
    const options = { audience: "vault", currentDate: new Date(time.clock.now()) };
    await jwtVerify(token, createLocalJWKSet(await keySet()), options);
  });

  it("expire no later than it allows", async () => {
    const { body, headers } = await request(200_000);
    const { spec } = JSON.parse(String(body)) as { spec: { expirationSeconds: number } };
    assert.equal(spec.expirationSeconds, 86_400);
    assert.match(JSON.stringify(headers), /shortened to 86400 seconds/);
  });

  it("stay valid while it is unreachable, new ones are refused with a 503, and it may return with other keys", async () => {
    const token = await newToken();
    signer.stop();
    const { status, body } = await request();
    assert.equal(status, 503);
    assert.match(String(body), /no token can be issued now: the external signer does not sign/);
    assert.equal(await isGood(token), true);

    const [old] = signer.keys;
    assert.ok(old);
    signer.keys = [newSignerKey("second"), { ...old, isExcluded: true }];
    await signer.start();
    const next = await newToken();
    assert.equal(decodeProtectedHeader(next).kid, "second");
    assert.equal(await isGood(next), true);
    // It verifies what it signed before, and relying parties need not learn of it.
    assert.equal(await isGood(token), true);
    assert.deepEqual(
      (await keySet()).keys.map(({ kid }) => kid),
      ["second"],
    );
  });

  it("with an unknown key are verified once more after its keys were read again", async () => {
    const before = signer.keys;
    signer.keys = [newSignerKey("third"), ...before];
    const other = await startTestServer({
      clock: time.clock,
      settings: { controllers: false, "service-account-signing-endpoint": socket },
    });
    const elsewhere = new InProcess(other);
    await elsewhere.json(accounts, { method: "POST", body: { metadata: { name: "robot" } } });
    const { status } = await elsewhere.json<{ status: { token: string } }>(`${accounts}/robot/token`, {
      method: "POST",
      body: { spec: { audiences: ["vault"] } },
    });
    const fetches = signer.calls.FetchKeys;
    time.pass(2000);
    // Its account is another one; its key is known now.
    assert.equal(await isGood(status.token), false);
    assert.equal(signer.calls.FetchKeys, fetches + 1);
    assert.ok((await keySet()).keys.some(({ kid }) => kid === "third"));
  });

  it("are not issued with a forged signature", async () => {
    signer.behaviour = "forges";
    assert.equal((await request()).status, 503);
    signer.behaviour = "works";
    assert.equal((await request()).status, 201);
  });

  it("have keys that no command of this server rotates", async () => {
    const { store, dataDirectory } = server;
    const keys = { store, dataDirectory, names: platformNames, sealingKey: SealingKey.open(dataDirectory) };
    await assert.rejects(
      rotateTokenKey(keys, { algorithm: undefined, publishMilliseconds: 0, clock: time.clock }),
      /signed by the external signer at .*signer\.sock/,
    );
  });

  it("are also signed by signers that speak the older versions of the protocol", async () => {
    signer.stop();
    await signer.start("v1alpha1");
    assert.equal((await request()).status, 201);
  });

  it("are counted and timed by outcome, also under upstream's names, with no secret in a label", async () => {
    const text = async (): Promise<string> => String((await api.send("/metrics")).body);
    const valueOf = async (series: string): Promise<number> =>
      Number(
        (await text())
          .split("\n")
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length + 1),
      );
    const of = `provider="externaljwt",key="${socket}"`;
    const failures = `signet_outside_key_signatures_total{${of},outcome="failed"}`;
    const before = await valueOf(failures);
    assert.ok(before >= 2, `${before} were not signed: the signer was away, and forged`);
    assert.equal(await valueOf(`signet_outside_key_usable{${of}}`), 1);
    assert.equal(await valueOf(`signet_outside_key_last_signed_timestamp_seconds{${of}}`), time.clock.now() / 1000);
    const signed = await valueOf(`signet_outside_key_signatures_total{${of},outcome="signed"}`);
    signer.behaviour = "fails";
    time.pass(5000);
    assert.equal((await request()).status, 503);
    assert.equal(await valueOf(failures), before + 1);
    assert.equal(await valueOf(`signet_outside_key_usable{${of}}`), 0);
    assert.equal(await valueOf(`signet_outside_key_last_signed_timestamp_seconds{${of}}`), time.clock.now() / 1000 - 5);
    assert.equal(await valueOf('apiserver_externaljwt_sign_request_total{code="Internal"}'), 1);
    const refusedAnswers = 'apiserver_externaljwt_sign_request_total{code="unknown-non-grpc"}';
    assert.equal(await valueOf(refusedAnswers), 1, "one signature was forged");
    const method = 'method="/v1alpha1.ExternalJWTSigner/Sign",code="Internal"';
    assert.equal(await valueOf(`apiserver_externaljwt_request_duration_seconds_count{${method}}`), 1);
    assert.ok((await valueOf('apiserver_externaljwt_fetch_keys_request_total{code="OK"}')) >= 2);
    assert.ok((await valueOf("apiserver_externaljwt_fetch_keys_success_timestamp")) > 0);
    signer.behaviour = "works";
    const token = await newToken();
    assert.equal(await valueOf(`signet_outside_key_signatures_total{${of},outcome="signed"}`), signed + 1);
    assert.equal(await valueOf(`signet_outside_key_usable{${of}}`), 1);
    for (const part of token.split(".")) assert.ok(!(await text()).includes(part));
  });

  for (const [what, settings, message] of [
    ["a key file", { "service-account-signing-key-file": "/k" }, /leave out --service-account-signing-key-file/],
    ["verification keys", { "service-account-key-file": ["/k"] }, /leave out --service-account-key-file/],
    ["a longer lifetime than it signs", { "service-account-max-token-expiration": "48h" }, /longer than the 86400 s/],
  ] as const) {
    it(`cannot be combined with ${what}`, async () => {
      const given = { controllers: false, "service-account-signing-endpoint": socket, ...settings };
      await assert.rejects(startTestServer({ settings: given }), message);
    });
  }
});
