import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

let server: TestServer;
let api: InProcess;
before(async () => {
  server = await startTestServer();
  api = new InProcess(server);
  const group = "rbac.authorization.platform.io";
  await api.json(`/apis/${group}/v1/clusterrolebindings`, {
    method: "POST",
    body: {
      metadata: { name: "anonymous-may-do-everything" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: "system:anonymous" }],
    },
  });
});

const ofHeader = "the provided Authorization header contains extra space before the bearer token, and is ignored";
const warning = (text: string): string => `299 - "${text}"`;
const anonymous = { token: "", headers: { authorization: "Bearer  spaced" } };

describe("the warnings of an answer", () => {
  it("are those of the body and that of the Authorization header", async () => {
    const { status, headers } = await api.send("/api/v1/namespaces/default/configmaps", {
      ...anonymous,
      method: "POST",
      body: { metadata: { name: "warned" }, unknown: true, other: 1 },
    });
    assert.equal(status, 201);
    assert.deepEqual(headers["warning"], [
      warning('unknown field \\"unknown\\"'),
      warning('unknown field \\"other\\"'),
      warning(ofHeader),
    ]);
  });

  it("come with refusals of a review, as with those of an object", async () => {
    const target = "/apis/authorization.platform.io/v1/selfsubjectaccessreviews";
    const { status, headers } = await api.send(target, { ...anonymous, method: "POST", body: { unknown: true } });
    assert.equal(status, 422);
    assert.deepEqual(headers["warning"], [warning('unknown field \\"unknown\\"'), warning(ofHeader)]);
  });

  it("say why a token did not count also where nobody may be anonymous", async () => {
    const closed = await startTestServer({ settings: { "anonymous-auth": "false" } });
    const { status, headers } = await new InProcess(closed).send("/version", anonymous);
    assert.deepEqual([status, headers["warning"]], [401, [warning(ofHeader)]]);
  });

  it("are a header each over HTTP/1.1 and HTTP/2", async () => {
    const path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    const sent = { authorization: `Bearer ${server.adminToken}`, "content-type": "application/json" };
    const body = JSON.stringify({ metadata: { name: "warned-twice" }, unknown: true, other: 1 });
    const overHttp1 = httpsRequest(server.url + path, { method: "POST", headers: sent, ca: server.caCertificates });
    overHttp1.end(body);
    const [answer] = (await once(overHttp1, "response")) as [IncomingMessage]; // as Node.js documents it
    answer.destroy();
    const session = connectHttp2(server.url, { ca: server.caCertificates });
    const overHttp2 = session.request({ ":method": "POST", ":path": path, ...sent });
    overHttp2.end(body);
    const [, , raw] = (await once(overHttp2, "response")) as [unknown, unknown, string[]]; // as Node.js documents it
    session.destroy();
    for (const headers of [answer.rawHeaders, raw]) {
      assert.deepEqual(
        headers.filter((_, at) => headers[at - 1]?.toLowerCase() === "warning"),
        [warning('unknown field \\"unknown\\"'), warning('unknown field \\"other\\"')],
      );
    }
  });

  it("are bounded together, and each comes once", async () => {
    const body = { metadata: { name: "many" }, ...Object.fromEntries(fields(200)) };
    const { headers } = await api.send("/api/v1/namespaces/default/configmaps?dryRun=All", {
      ...anonymous,
      method: "POST",
      body,
    });
    const warnings = [headers["warning"] ?? []].flat();
    assert.equal(new Set(warnings).size, warnings.length);
    assert.ok(warnings.join("").length <= 4096);
  });
});

const fields = (count: number): [string, number][] =>
  Array.from({ length: count }, (_, index) => [`field${index}`.padEnd(100, "x"), index]);
