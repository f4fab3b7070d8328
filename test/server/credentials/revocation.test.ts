import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { HttpResponse, StreamBody } from "../../../src/machinery/api/http-message.ts";
import { timestamp } from "../../../src/machinery/api/clock.ts";
import { parseKubeconfig } from "../../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { fingerprintOf, parseCertificate, serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { issuedCertificateResource } from "../../../src/features/certificates/resources.ts";
import { revocationResource } from "../../../src/features/revocation/resources.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { startTestServer } from "../../test-server.ts";
import { until } from "../../features/certificates/certificate-loop-scene.ts";
import { newCertificate, startOf2026 } from "../../features/access/certificate-scene.ts";
import { ForgetfulStore } from "../../machinery/registry/forgetful-store.ts";
import { InProcess, sendInProcess } from "../in-process.ts";
import type { SentRequest } from "../in-process.ts";
import { clients, codesOf, proxies, startTwoServers, whoami } from "./two-servers.ts";
import type { TwoServers } from "./two-servers.ts";

let scene: TwoServers;
let servers: TwoServers["servers"];
before(async () => {
  scene = await startTwoServers();
  ({ servers } = scene);
  for (const name of ["robot", "other"]) {
    await servers[0].client.request("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
    });
  }
});
after(() => scene.stop());

const path = "/apis/signet.platform.io/v1/revocations";

const create = (spec: object, sent: SentRequest = { token: "admin" }, name = "one"): Promise<HttpResponse> =>
  sendInProcess(servers[0], path, {
    ...sent,
    method: "POST",
    body: { apiVersion: "signet.platform.io/v1", kind: "Revocation", metadata: { name }, spec },
  });
const remove = async (name = "one"): Promise<void> => {
  assert.equal((await sendInProcess(servers[0], `${path}/${name}`, { method: "DELETE", token: "admin" })).status, 200);
};
const codes = (sent: SentRequest): Promise<readonly number[]> => codesOf(servers, sent);
const issue = async (account = "robot"): Promise<string> => {
  const { status } = await servers[0].client.request<{ status: { token: string } }>(
    `/api/v1/namespaces/default/serviceaccounts/${account}/token`,
    { method: "POST", body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: {} } },
  );
  return status.token;
};
const idOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { jti: string }).jti;
const seconds = (later: number): string => timestamp(startOf2026 + later * 1000);

const good = [201, 201];
const refused = [401, 401];
/** Refused while the revocation is there, at both servers; and good before and after. */
async function assertRevokes(spec: object, sent: SentRequest, others: readonly SentRequest[] = []): Promise<void> {
  assert.deepEqual(await codes(sent), good);
  const answer = await create(spec);
  assert.equal(answer.status, 201, String(answer.body));
  assert.deepEqual(await codes(sent), refused);
  for (const other of others) assert.deepEqual(await codes(other), good);
  await remove();
  assert.deepEqual(await codes(sent), good);
}

describe("a token", () => {
  it("is revoked by its id, also while its verification is cached", async () => {
    const token = await issue();
    const other = await issue();
    await assertRevokes({ token: { id: idOf(token) } }, { token }, [{ token: other }]);
  });

  it("is revoked with its account, and only up to a time", async () => {
    const token = await issue();
    const sent = { token };
    const others = [{ token: await issue("other") }];
    const serviceAccount = { namespace: "default", name: "robot" };
    await assertRevokes({ token: { serviceAccount } }, sent, others);
    await assertRevokes({ token: { serviceAccount, issuedBefore: seconds(1) } }, sent, others);
    await create({ token: { serviceAccount, issuedBefore: seconds(0) } });
    assert.deepEqual(await codes(sent), good);
    await remove();
  });

  it("is revoked with everything that was issued before a time", async () => {
    await assertRevokes({ token: { issuedBefore: seconds(1) } }, { token: await issue() }, [{ token: "admin" }]);
  });

  it("that is revoked is not authenticated by a TokenReview", async () => {
    const token = await issue();
    await create({ token: { id: idOf(token) } });
    const body = { apiVersion: "authentication.platform.io/v1", kind: "TokenReview", spec: { token } };
    const sent = { method: "POST", token: "admin", body };
    const answer = await sendInProcess(servers[1], "/apis/authentication.platform.io/v1/tokenreviews", sent);
    const { status } = JSON.parse(String(answer.body)) as { status: { authenticated?: boolean; error?: string } };
    assert.equal(status.authenticated ?? false, false);
    assert.match(status.error ?? "", /the token has been revoked/);
    assert.doesNotMatch(String(answer.body), new RegExp(idOf(token)));
    await remove();
  });

  it("that is revoked is refused by a server that starts later", async () => {
    const token = await issue();
    await create({ token: { id: idOf(token) } });
    assert.deepEqual(await codesOf([await scene.start("late")], { token }), [401]);
    await remove();
  });
});

describe("a client certificate", () => {
  const certificate = newCertificate(clients, { subject: { commonName: "ann", organizations: ["system:masters"] } });
  const sent: SentRequest = { certificates: [certificate] };
  const others: readonly SentRequest[] = [
    { certificates: [newCertificate(clients, { subject: { commonName: "bob", organizations: [] } })] },
  ];
  const parsed = parseCertificate(certificate.raw);

  it("is revoked by fingerprint, by issuer and serial number, and by subject, on the connection that it has", async () => {
    await assertRevokes({ certificate: { fingerprint: fingerprintOf(parsed) } }, sent, others);
    const issuer = formatDistinguishedName(parsed.issuer);
    await assertRevokes({ certificate: { issuer, serialNumber: serialNumberHex(parsed) } }, sent);
    await assertRevokes({ certificate: { subject: formatDistinguishedName(parsed.subject) } }, sent, others);
  });

  it("of a front proxy is revoked, and with it the users that the proxy names", async () => {
    const proxy = newCertificate(proxies, { subject: { commonName: "proxy", organizations: [] } });
    const proxied = { certificates: [proxy], headers: { "x-remote-user": "carl" } };
    await assertRevokes({ certificate: { fingerprint: fingerprintOf(parseCertificate(proxy.raw)) } }, proxied);
  });

  it("can revoke itself, once", async () => {
    assert.equal((await create({ certificate: { fingerprint: fingerprintOf(parsed) } }, sent)).status, 201);
    assert.equal((await create({ token: { id: "x" } }, sent, "two")).status, 401);
    await remove();
  });

  it("does nothing with a body that comes after it was revoked", async () => {
    const held = Promise.withResolvers<Buffer>();
    const configMaps = "/api/v1/namespaces/default/configmaps";
    const robot = "/api/v1/namespaces/default/serviceaccounts/robot";
    const answering = (
      [
        ["POST", configMaps],
        ["PUT", robot],
        ["PATCH", robot],
        ["DELETE", robot],
        ["DELETE", configMaps],
        ["POST", `${robot}/token`],
        ["POST", whoami],
      ] as const
    ).map(([method, path]) =>
      servers[0].handler({
        method,
        path,
        query: "",
        headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [certificate] },
        readBody: () => held.promise,
        signal: new AbortController().signal,
      }),
    );
    await create({ certificate: { fingerprint: fingerprintOf(parsed) } });
    assert.deepEqual(await codes(sent), refused);
    held.resolve(Buffer.from("{}"));
    const statuses = (await Promise.all(answering)).map(({ status }) => status);
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 401, 401]);
    await remove();
  });

  const openWatch = async (): Promise<StreamBody> => {
    const { body } = await sendInProcess(servers[1], "/api/v1/nodes?watch=true", sent);
    assert.ok(typeof body === "object" && "start" in body);
    return body;
  };
  /** Resolves when the server ends the stream. */
  const endOf = (stream: StreamBody): Promise<void> =>
    new Promise((resolve) => {
      const stop = stream.start({
        write: () => undefined,
        bufferedBytes: () => 0,
        end: () => {
          stop();
          resolve();
        },
      });
    });

  it("loses its watches when it is revoked", async () => {
    const ended = endOf(await openWatch());
    await create({ certificate: { fingerprint: fingerprintOf(parsed) } });
    await ended;
    await remove();
  });

  it("loses a watch that starts just after it was revoked", async () => {
    const stream = await openWatch();
    await create({ certificate: { fingerprint: fingerprintOf(parsed) } });
    assert.deepEqual(await codes(sent), refused);
    await endOf(stream);
    await remove();
  });
});

it("the administrator's certificate is replaced as soon as it is revoked, and the kubeconfig keeps its namespace", async () => {
  const server = await startTestServer({ settings: { controllers: "false" } });
  const kubeconfig = (): string => readFileSync(server.kubeconfigFile, "utf8");
  const certificateIn = (text: string): string | undefined => /client-certificate-data: (\S+)/.exec(text)?.[1];
  const earlier = kubeconfig();
  writeFileSync(server.kubeconfigFile, earlier.replace("cluster: signet\n", "$&      namespace: team\n"));
  const records = server.client.resource(issuedCertificateResource(platformNames));
  const [record] = (await records.list()).items;
  const { issuer = "", serialNumber = "" } = record?.spec ?? {};
  await server.client.resource(revocationResource(platformNames)).create({
    apiVersion: "",
    kind: "",
    metadata: { name: "administrator" },
    spec: { certificate: { issuer, serialNumber } },
  });
  const { spec } = await until(server.client, issuedCertificateResource(platformNames), (one) => {
    return one.spec.serialNumber !== serialNumber;
  });
  const later = kubeconfig();
  const [renewed] = parseCertificatesPem(Buffer.from(certificateIn(later) ?? "", "base64").toString());
  assert.notEqual(certificateIn(earlier), undefined);
  assert.ok(renewed);
  assert.equal(serialNumberHex(renewed), spec.serialNumber);
  assert.equal(parseKubeconfig(later, { path: "" }).namespace, "team");
});

describe("a revocation", () => {
  it("names one thing, in its canonical form", async () => {
    const wrong = [
      {},
      { token: {} },
      { token: { id: "" } },
      { token: { id: "a", issuedBefore: seconds(0) } },
      { token: { id: "x".repeat(1025) } },
      { token: { issuedBefore: seconds(301) } },
      { token: { serviceAccount: { namespace: "", name: "robot" } } },
      { token: { id: "a" }, certificate: { subject: "CN=a" } },
      { token: { id: "a" }, reason: "because" },
      { certificate: {} },
      { certificate: { fingerprint: "AB".repeat(32) } },
      { certificate: { serialNumber: "1f" } },
      { certificate: { issuer: "CN=a" } },
      { certificate: { issuer: "CN=a", serialNumber: "01f" } },
      { certificate: { subject: "foo" } },
      { certificate: { subject: "CN=a, O=b" } },
      { certificate: { issuer: "foo", serialNumber: "1f" } },
      { certificate: { subject: "CN=a", fingerprint: "ab".repeat(32) } },
      { certificate: { fingerprint: "ab".repeat(32), issuedBefore: seconds(0) } },
    ];
    for (const spec of wrong) assert.equal((await create(spec)).status, 422, JSON.stringify(spec));
  });

  it("cannot be changed", async () => {
    await create({ token: { id: "a" } });
    const body = { spec: { token: { id: "b" } } };
    const headers = { "content-type": "application/merge-patch+json" };
    const patched = await sendInProcess(servers[0], `${path}/one`, { method: "PATCH", token: "admin", body, headers });
    assert.equal(patched.status, 422);
    await remove();
  });

  it("is made and read by administrators alone", async () => {
    const node = newCertificate(clients, { subject: { commonName: "system:node:a", organizations: ["system:nodes"] } });
    for (const sent of [{ token: await issue() }, { certificates: [node] }]) {
      assert.equal((await create({ token: { id: "a" } }, sent)).status, 403);
      assert.equal((await sendInProcess(servers[0], path, sent)).status, 403);
    }
  });
});

describe("a revocation that cannot be read any more", () => {
  it("stays in force, until it can be read again and is deleted", async () => {
    const store = new ForgetfulStore();
    const api = new InProcess(await startTestServer({ store, settings: { controllers: false } }));
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await api.json(accounts, { method: "POST", body: { metadata: { name: "robot" } } });
    const { status } = await api.json<{ status: { token: string } }>(`${accounts}/robot/token`, {
      method: "POST",
      body: {},
    });
    const { token } = status;
    const code = async (): Promise<number> => (await api.send(whoami, { method: "POST", token, body: {} })).status;
    const spec = { token: { id: idOf(token) } };
    assert.equal((await api.send(path, { method: "POST", body: { metadata: { name: "one" }, spec } })).status, 201);
    assert.equal(await code(), 401);

    const range = {
      start: "/registry/revocations.signet.platform.io/",
      end: "/registry/revocations.signet.platform.io0",
    };
    const [{ key, value } = {}] = (await store.range(range)).entries;
    assert.ok(key !== undefined && value !== undefined);
    /** Loads the copies in memory again after another write, which they have missed. */
    const reload = (): Promise<void> =>
      store.forget(async () => {
        const [stored] = (await store.range(range)).entries;
        await store.write({ key, value, expectedRevision: stored?.modRevision ?? 0 });
      });
    store.unreadable.add(key);
    await reload();
    assert.equal((await api.send(`${path}/one`)).status, 500);
    assert.equal(await code(), 401);

    store.unreadable.clear();
    await reload();
    assert.equal((await api.send(`${path}/one`, { method: "DELETE" })).status, 200);
    assert.equal(await code(), 201);
  });
});
