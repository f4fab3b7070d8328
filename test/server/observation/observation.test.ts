import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import pino from "pino";
import { namesFor } from "../../../src/machinery/api/names.ts";
import { certificateSigningRequestResource } from "../../../src/features/certificates/resources.ts";
import { apiserverClient } from "../../../src/features/certificates/signers/apiserver-client.ts";
import { certificateRequest } from "../../clients/certificate-request.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { waitForObject } from "../../wait-for-object.ts";
import { InProcess } from "../in-process.ts";

const names = namesFor("platform");
const requests = "/apis/certificates.platform.io/v1/certificatesigningrequests";
const client = apiserverClient.nameIn(names);

describe("the work of a server", () => {
  const lines: Record<string, unknown>[] = [];
  let server: TestServer;
  let api: InProcess;

  const valueOf = async (series: string): Promise<number | undefined> => {
    const line = String((await api.send("/metrics")).body)
      .split("\n")
      .find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };
  const logged = (message: string) => lines.filter(({ msg }) => msg === message);

  async function decide(name: string, type: "Approved" | "Denied"): Promise<void> {
    const created = await api.json(requests, { method: "POST", body: certificateRequest({ name, names }) });
    const status = { conditions: [{ type, status: "True", reason: "Test", message: "a secret remark" }] };
    await api.json(`${requests}/${name}/approval`, { method: "PUT", body: { ...created, status } });
  }

  before(async () => {
    const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    // The clock stands still: how many lines are logged depends on the time between them.
    const startedAt = Date.now();
    server = await startTestServer({ log, storage: "lmdb", clock: { now: () => startedAt } });
    await waitForDefaultAccount(server);
    api = new InProcess(server);
  });

  it("is counted from 0 on for each signer, so that Prometheus sees the first failure increase", async () => {
    for (const signer of [client, "other"]) {
      assert.equal(await valueOf(`signet_certificate_requests_failed_total{signer="${signer}"}`), 0, signer);
    }
  });

  it("is shown as the results of the health checks that were asked for, which /metrics/slis has alone", async () => {
    await api.send("/livez");
    await api.send("/readyz?exclude=ping");
    const shown = String((await api.send("/metrics/slis")).body)
      .split("\n")
      .filter((line) => /^[^#].*name="ping"|nodejs/.test(line));
    assert.deepEqual(shown, [
      'kubernetes_healthcheck{name="ping",type="livez"} 1',
      'kubernetes_healthchecks_total{name="ping",type="livez",status="success"} 1',
    ]);
  });

  it("is logged and counted once for each certificate that is approved, issued or denied", async () => {
    await decide("good", "Approved");
    await waitForObject(
      server.client,
      certificateSigningRequestResource(names),
      { name: "good" },
      (request) => (request?.status?.certificate ?? "") !== "",
    );
    await decide("bad", "Denied");
    await api.json(`${requests}/bad`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels: { looked: "at" } } },
    });
    assert.equal(await valueOf(`signet_certificates_issued_total{signer="${client}"}`), 1);
    assert.equal(await valueOf(`signet_certificate_requests_denied_total{signer="${client}"}`), 1);
    const { level, time, ...issued } = logged("certificate issued")[0] ?? {};
    assert.deepEqual(issued, {
      request: "good",
      signer: client,
      requester: "admin",
      by: "system:platform-controller-manager",
      msg: "certificate issued",
    });
    assert.equal(level, 30);
    assert.equal(typeof time, "number");
    assert.equal(logged("certificate request approved").length, 1);
    assert.equal(logged("certificate request denied").length, 1);
    assert.ok(!JSON.stringify(lines).includes("a secret remark"));
    assert.ok(((await valueOf(`signet_certificate_soonest_expiry_seconds{signer="${client}"}`)) ?? 0) > 80_000);
  });

  it("has no unknown signer in metric labels", async () => {
    const signerName = "example.com/made-up";
    const body = certificateRequest({ name: "elsewhere", names });
    await api.json(requests, { method: "POST", body: { ...body, spec: { ...body.spec, signerName } } });
    assert.equal(await valueOf('signet_certificate_requests_pending{signer="other"}'), 1);
    assert.ok(!String((await api.send("/metrics")).body).includes(signerName));
  });

  it("is logged for refused logins: a few of many, without the credential", async () => {
    for (let count = 0; count < 40; count += 1) await api.send("/api", { token: "not-a-good-token" });
    const refused = logged("login refused");
    assert.equal(refused.length, 10);
    assert.equal(refused[0]?.["credential"], "bearer token");
    assert.ok(!JSON.stringify(lines).includes("not-a-good-token"));
    assert.equal(await valueOf('signet_authentications_total{method="bearer token",outcome="refused"}'), 40);
  });

  it("is logged for users who change permissions, and not for the setup by the server", async () => {
    assert.deepEqual(
      logged("policy created").filter(({ kind }) => kind !== "ClusterTrustBundle"),
      [],
    );
    const rolesOf = (group: string): string => `/apis/${group}/v1/namespaces/default/roles`;
    const body = { metadata: { name: "reader" }, rules: [] };
    await api.json(rolesOf("rbac.authorization.platform.io"), { method: "POST", body });
    await api.json(`${rolesOf("rbac.authorization.k8s.io")}/reader`, { method: "DELETE" });
    const changes = lines
      .filter(({ kind }) => kind === "Role")
      .map(({ msg, namespace, name, by }) => ({ msg, namespace, name, by }));
    const change = { namespace: "default", name: "reader", by: "admin" };
    assert.deepEqual(changes, [
      { msg: "policy created", ...change },
      { msg: "policy deleted", ...change },
    ]);
  });

  it("is counted for tokens", async () => {
    const version = "authentication.platform.io/v1";
    const { status } = await api.json<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      {
        method: "POST",
        body: { apiVersion: version, kind: "TokenRequest", spec: { audiences: [] } },
      },
    );
    for (const token of [status.token, "nonsense"]) {
      const body = { apiVersion: version, kind: "TokenReview", spec: { token } };
      await api.json(`/apis/${version}/tokenreviews`, { method: "POST", body });
    }
    assert.equal(await valueOf("signet_tokens_issued_total"), 1);
    assert.equal(await valueOf('signet_token_reviews_total{outcome="authenticated"}'), 1);
    assert.equal(await valueOf('signet_token_reviews_total{outcome="refused"}'), 1);
  });

  it("is counted for each loop", async () => {
    await eventually("an empty queue", async () => (await valueOf('workqueue_depth{name="csrsigning"}')) === 0);
    const text = String((await api.send("/metrics")).body);
    const adds = /^workqueue_adds_total\{name="csrsigning"\} (\d+)$/m.exec(text)?.[1];
    assert.ok(Number(adds) > 0, text);
    assert.match(text, /^workqueue_retries_total\{name="csrsigning"\} \d+$/m);
  });

  it("is measured for the store and the CAs", async () => {
    assert.ok(((await valueOf("signet_storage_revision")) ?? 0) > 30);
    assert.ok(((await valueOf("signet_storage_size_bytes")) ?? 0) > 4096);
    assert.ok(((await valueOf('signet_authority_expiry_seconds{certificate="server CA"}')) ?? 0) > 86_400);
  });
});
