import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { permitNodeBootstrap } from "../../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import type { NewBootstrapToken } from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { newEncryptionKey, writeEncryptionKeys } from "../../../src/server/encryption/encryption-key-file.ts";
import type { RunningServer } from "../../../src/server/start-server.ts";
import { newCertificate } from "../../features/access/certificate-scene.ts";
import { sendInProcess } from "../in-process.ts";
import type { SentRequest } from "../in-process.ts";
import { clients, codesOf, pemOf, proxies, startTwoServers } from "./two-servers.ts";
import type { TwoServers } from "./two-servers.ts";

let scene: TwoServers;
let servers: TwoServers["servers"];
before(async () => {
  scene = await startTwoServers({
    moreTokens: 'static,system:node:web-1,2,"system:nodes"\n',
    moreSettings(folder) {
      const encryptionKey = join(folder, "encryption.key");
      writeEncryptionKeys(encryptionKey, [newEncryptionKey()]);
      return { "encryption-key-file": encryptionKey };
    },
  });
  ({ servers } = scene);
  await permitNodeBootstrap({ client: servers[0].client, names });
});
after(() => scene.stop());

interface Answered {
  readonly message: string;
  readonly status: { readonly authenticated?: boolean };
}

const answerOf = ({ body }: HttpResponse): Answered => JSON.parse(String(body)) as Answered;

const certificateOf = (commonName: string, authority = clients): X509Certificate =>
  newCertificate(authority, { subject: { commonName, organizations: ["system:nodes"] } });

const requests = "/apis/certificates.platform.io/v1/certificatesigningrequests";
const locks = "/apis/signet.platform.io/v1/nodelocks";

let count = 0;
/** A request of a machine for its client certificate. */
function signingRequest(node: string, privateKey = generatePrivateKey("ECDSA P-256")): object {
  const pem = createCertificateRequestPem({
    privateKey,
    subject: { commonName: `system:node:${node}`, organizations: ["system:nodes"] },
    subjectAltNames: noSubjectAltNames,
  });
  return {
    apiVersion: "certificates.platform.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: `request-${++count}` },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "platform.io/apiserver-client-nodeagent",
      usages: ["digital signature", "client auth"],
    },
  };
}

async function bootstrapToken(options: Partial<NewBootstrapToken>): Promise<string> {
  const { token, secret } = newBootstrapToken(names, {
    groups: ["system:bootstrappers:signet:default-node-token"],
    expiresAt: undefined,
    description: undefined,
    ...options,
  });
  await servers[0].client.request("/api/v1/namespaces/platform-system/secrets", { method: "POST", body: secret });
  return token;
}

const ask = (server: RunningServer, token: string, body: object): Promise<HttpResponse> =>
  sendInProcess(server, requests, { method: "POST", token, body });

describe("a machine that is locked out", () => {
  /** Every credential of the machine web-1, by name. */
  let credentials: Readonly<Record<string, SentRequest>>;
  let podToken = "";
  let boundToken = "";
  const lock = async (): Promise<void> => {
    const body = { apiVersion: "signet.platform.io/v1", kind: "NodeLock", metadata: { name: "web-1" }, spec: {} };
    assert.equal((await sendInProcess(servers[0], locks, { method: "POST", token: "admin", body })).status, 201);
  };
  const unlock = async (): Promise<void> => {
    assert.equal((await sendInProcess(servers[0], `${locks}/web-1`, { method: "DELETE", token: "admin" })).status, 200);
  };

  before(async () => {
    const { client } = servers[0];
    await client.request("/api/v1/nodes", {
      method: "POST",
      body: { apiVersion: "v1", kind: "Node", metadata: { name: "web-1" } },
    });
    await client.request("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
    });
    const pod = await client.request<{ metadata: { uid: string } }>("/api/v1/namespaces/default/pods", {
      method: "POST",
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "one" },
        spec: { nodeName: "web-1", containers: [{ name: "main", image: "worker:1" }] },
      },
    });
    const { status } = await client.request<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      {
        method: "POST",
        body: {
          apiVersion: "authentication.platform.io/v1",
          kind: "TokenRequest",
          spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "one", uid: pod.metadata.uid } },
        },
      },
    );
    podToken = status.token;
    boundToken = await bootstrapToken({ nodeNames: "web-1", mayReplaceNode: true });
    const subprotocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(podToken).toString("base64url")}, x`;
    credentials = {
      "its client certificate": { certificates: [certificateOf("system:node:web-1")] },
      "a front proxy that names it": {
        certificates: [certificateOf("proxy", proxies)],
        headers: { "x-remote-user": "system:node:web-1", "x-remote-group": "system:nodes" },
      },
      "the token of a Pod on it": { token: podToken },
      "the token of a Pod on it, in a WebSocket's subprotocol": {
        isWebSocket: true,
        headers: {
          "sec-websocket-protocol": subprotocol,
          "sec-websocket-version": "13",
          "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
      },
      "a static token of its user": { token: "static" },
      "its bootstrap token": { token: boundToken },
    };
  });

  it("is refused with every credential, by every server, from the next request on until it is unlocked", async () => {
    const codes = async (): Promise<Record<string, readonly number[]>> =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(credentials).map(async ([name, sent]) => [name, await codesOf(servers, sent)] as const),
        ),
      );
    const all = (code: number) => Object.fromEntries(Object.keys(credentials).map((name) => [name, [code, code]]));
    assert.deepEqual(await codes(), all(201));
    await lock();
    assert.deepEqual(await codes(), all(401));
    await unlock();
    assert.deepEqual(await codes(), all(201));
  });

  it("does not lock out a user of whom something else has its name: a Pod, a team", async () => {
    const keys = ["authentication.platform.io/pod-name", "authentication.platform.io", "example.com/node-name", "team"];
    const extras = keys.map((key) => [`x-remote-extra-${encodeURIComponent(key).toLowerCase()}`, "web-1"]);
    const as = (headers: Readonly<Record<string, string>>) =>
      codesOf(servers, {
        certificates: [certificateOf("proxy", proxies)],
        headers: { "x-remote-user": "ann", ...headers },
      });
    await lock();
    assert.deepEqual(await as(Object.fromEntries(extras) as Record<string, string>), [201, 201]);
    assert.deepEqual(await as({ "x-remote-extra-authentication.platform.io%2fnode-name": "web-1" }), [401, 401]);
    await unlock();
  });

  it("is refused for every verb, every subresource, streams and paths outside the API", async () => {
    const node = "/api/v1/nodes/web-1";
    const lease = "/apis/coordination.platform.io/v1/namespaces/platform-node-lease/leases";
    const asked: readonly (readonly [string, string])[] = [
      ["GET", node],
      ["PUT", node],
      ["PATCH", node],
      ["DELETE", node],
      ["GET", `${node}/status`],
      ["PATCH", `${node}/status`],
      ["POST", "/api/v1/nodes"],
      ["GET", "/api/v1/nodes?watch=true"],
      ["GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dweb-1"],
      ["DELETE", "/api/v1/namespaces/default/pods"],
      ["POST", "/api/v1/namespaces/default/serviceaccounts/default/token"],
      ["GET", "/api/v1/namespaces/default/secrets/any"],
      ["GET", `${lease}/web-1`],
      ["POST", lease],
      ["PUT", `${lease}/web-1`],
      ["POST", requests],
      ["GET", `${requests}/any`],
      ["PUT", `${requests}/any/approval`],
      ["PUT", `${requests}/any/status`],
      ["GET", "/apis/certificates.platform.io/v1beta1/clustertrustbundles?watch=true"],
      ["POST", "/apis/authorization.platform.io/v1/selfsubjectaccessreviews"],
      ["DELETE", `${locks}/web-1`],
      ["GET", "/apis"],
      ["GET", "/metrics"],
      ["OPTIONS", "/"],
    ];
    await lock();
    for (const [index, [method, path]] of asked.entries()) {
      const answer = await sendInProcess(servers[index % 2 === 0 ? 0 : 1], path, {
        method,
        certificates: [certificateOf("system:node:web-1")],
        ...(method !== "GET" && { body: {} }),
      });
      assert.equal(answer.status, 401, `${method} ${path}`);
    }
    await unlock();
  });

  it("has its tokens refused by TokenReviews", async () => {
    const reviewed = async (token: string): Promise<boolean> => {
      const body = { apiVersion: "authentication.platform.io/v1", kind: "TokenReview", spec: { token } };
      const sent = { method: "POST", token: "admin", body };
      const answer = await sendInProcess(servers[1], "/apis/authentication.platform.io/v1/tokenreviews", sent);
      return answerOf(answer).status.authenticated ?? false;
    };
    assert.equal(await reviewed(podToken), true);
    await lock();
    assert.equal(await reviewed(podToken), false);
    assert.equal(await reviewed(boundToken), false);
    await unlock();
  });

  it("gets no certificate, whoever requests it, and whenever it was requested", async () => {
    const [server] = servers;
    const early = signingRequest("web-1") as { metadata: { name: string } };
    assert.equal((await ask(server, "admin", early)).status, 201);
    const path = `${requests}/${early.metadata.name}`;
    const decide = async (type: string): Promise<number> => {
      const current = answerOf(await sendInProcess(server, path, { token: "admin" }));
      const status = { ...current.status, conditions: [{ type, status: "True", reason: "Test" }] };
      const sent = { method: "PUT", token: "admin", body: { ...current, status } };
      return (await sendInProcess(server, `${path}/approval`, sent)).status;
    };
    await lock();
    assert.equal((await ask(servers[1], "admin", signingRequest("web-1"))).status, 403);
    const anyone = await bootstrapToken({ mayReplaceNode: true });
    assert.equal((await ask(servers[1], anyone, signingRequest("web-1"))).status, 403);
    assert.equal((await ask(servers[1], anyone, signingRequest("web-2"))).status, 201);
    assert.equal(await decide("Approved"), 403);
    await unlock();
    assert.equal(await decide("Approved"), 200);
    await lock();
    // It is approved already: this grants nothing.
    assert.equal(await decide("Approved"), 200);
    const approved = answerOf(await sendInProcess(server, path, { token: "admin" }));
    const certificate = Buffer.from(pemOf(clients)).toString("base64");
    const signed = { ...approved, status: { ...approved.status, certificate } };
    assert.equal(
      (await sendInProcess(server, `${path}/status`, { method: "PUT", token: "admin", body: signed })).status,
      403,
    );
    await unlock();
    assert.equal(
      (await sendInProcess(server, `${path}/status`, { method: "PUT", token: "admin", body: signed })).status,
      200,
    );
  });

  it("can be denied the certificate that it has requested, and its request can be labeled and deleted", async () => {
    const [server] = servers;
    const request = signingRequest("web-1") as { metadata: { name: string } };
    assert.equal((await ask(server, "admin", request)).status, 201);
    const path = `${requests}/${request.metadata.name}`;
    const write = async (method: string, at = path, change: object = {}): Promise<number> => {
      const current = answerOf(await sendInProcess(server, path, { token: "admin" }));
      const body = method === "PUT" ? { ...current, ...change } : undefined;
      return (await sendInProcess(server, at, { method, token: "admin", body })).status;
    };
    await lock();
    const metadata = { name: request.metadata.name, labels: { seen: "yes" } };
    assert.equal(await write("PUT", path, { metadata }), 200);
    const conditions = [{ type: "Denied", status: "True", reason: "Stolen" }];
    assert.equal(await write("PUT", `${path}/approval`, { status: { conditions } }), 200);
    assert.equal(await write("DELETE"), 200);
    await unlock();
  });

  it("loses the watches that it has open", async () => {
    const sent = { certificates: [certificateOf("system:node:web-1")] };
    const { body } = await sendInProcess(
      servers[1],
      "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dweb-1",
      sent,
    );
    assert.ok(typeof body === "object" && "start" in body);
    const stream = body;
    let stop = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      stop = stream.start({ write: () => undefined, bufferedBytes: () => 0, end: resolve });
    });
    await lock();
    await ended;
    stop();
    await unlock();
  });
});

describe("a bootstrap token", () => {
  const messageOf = (answer: HttpResponse): string => answerOf(answer).message;

  it("is valid only for the node names that it lists", async () => {
    const token = await bootstrapToken({ nodeNames: "db-*.example.com" });
    assert.equal((await ask(servers[0], token, signingRequest("db-1.example.com"))).status, 201);
    for (const other of ["web-3", "db-1.example.org", "xdb-1.example.com"]) {
      const answer = await ask(servers[0], token, signingRequest(other));
      assert.equal(answer.status, 403);
      assert.match(messageOf(answer), /is for "db-\*\.example\.com", not for/);
    }
    const otherSigner = signingRequest("db-2.example.com") as { spec: { signerName: string } };
    for (const signerName of ["platform.io/apiserver-client", "platform.io/nodeagent-serving"]) {
      otherSigner.spec.signerName = signerName;
      assert.equal((await ask(servers[0], token, otherSigner)).status, 403);
    }
    assert.equal((await ask(servers[0], await bootstrapToken({}), otherSigner)).status, 201);
    const overlapping = await bootstrapToken({ nodeNames: "web-*-web" });
    assert.equal((await ask(servers[0], overlapping, signingRequest("web-web"))).status, 403);
    // Somebody wrote the Secret by hand: what is no pattern allows nothing.
    const unreadable = await bootstrapToken({ nodeNames: "db-*m*" });
    assert.equal((await ask(servers[0], unreadable, signingRequest("db-4.example.com"))).status, 403);
  });

  it("is not valid for a Node that exists, unless it says so", async () => {
    const refused = await ask(servers[1], await bootstrapToken({}), signingRequest("web-1"));
    assert.equal(refused.status, 403);
    assert.match(messageOf(refused), /there is a Node "web-1" already.*--allow-existing-node/);
    const allowed = await bootstrapToken({ mayReplaceNode: true });
    assert.equal((await ask(servers[1], allowed, signingRequest("web-1"))).status, 201);
  });

  it("for one use is spent exactly once, however many machines use it at once at however many servers", async () => {
    const token = await bootstrapToken({ isForOneUse: true });
    const dryRun = { method: "POST", token, body: signingRequest("race-0") };
    assert.equal((await sendInProcess(servers[0], `${requests}?dryRun=All`, dryRun)).status, 201);
    const keys = Array.from({ length: 12 }, () => generatePrivateKey("ECDSA P-256"));
    const answers = await Promise.all(
      keys.map((key, index) => ask(servers[index % 2 === 0 ? 0 : 1], token, signingRequest(`race-${index}`, key))),
    );
    const winners = answers.flatMap(({ status }, index) => (status === 201 ? [index] : []));
    assert.equal(winners.length, 1, answers.map(({ status }) => status).join());
    assert.ok(answers.every(({ status }) => status === 201 || status === 403));
    // The answer may have been lost: the same key may ask for the same machine again, and for no other.
    const [winner = 0] = winners;
    assert.equal((await ask(servers[1], token, signingRequest(`race-${winner}`, keys[winner]))).status, 201);
    assert.equal((await ask(servers[1], token, signingRequest("race-99", keys[winner]))).status, 403);
    assert.equal((await ask(servers[0], token, signingRequest(`race-${winner}`))).status, 403, "another key");
  });

  it("that is not for one use is valid for one machine after the other, and its Secret does not change", async () => {
    const token = await bootstrapToken({});
    const path = `/api/v1/namespaces/platform-system/secrets/bootstrap-token-${token.split(".")[0]}`;
    const secret = async () => answerOf(await sendInProcess(servers[0], path, { token: "admin" }));
    const unused = await secret();
    for (const node of ["many-1", "many-2"]) {
      assert.equal((await ask(servers[0], token, signingRequest(node))).status, 201);
    }
    assert.deepEqual(await secret(), unused);
  });

  it("that is gone is valid for no machine, also for somebody who acts as its user", async () => {
    const groups = ["system:bootstrappers", "system:bootstrappers:signet:default-node-token"];
    const headers = { "impersonate-user": "system:bootstrap:abcdef", "impersonate-group": groups };
    const sent = { method: "POST", token: "admin", headers, body: signingRequest("gone-1") };
    const answer = await sendInProcess(servers[0], requests, sent);
    assert.equal(answer.status, 403);
    assert.match(messageOf(answer), /: the bootstrap token is gone$/);
  });

  it("for one use is not spent by a request that is refused", async () => {
    const token = await bootstrapToken({ isForOneUse: true });
    const bad = signingRequest("late-1") as { spec: { usages: string[] } };
    bad.spec.usages = ["nonsense"];
    assert.equal((await ask(servers[0], token, bad)).status, 422);
    assert.equal((await ask(servers[0], token, signingRequest("late-1"))).status, 201);
  });
});
