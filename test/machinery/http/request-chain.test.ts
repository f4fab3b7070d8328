import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import {
  badRequest,
  conflict,
  notFound,
  statusOf,
  tooManyRequests,
  unauthorized,
} from "../../../src/machinery/api/api-error.ts";
import type { HttpRequest, HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { startTransaction } from "../../../src/machinery/api/transaction.ts";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import { currentTrace, requestChannel } from "../../../src/machinery/tracing/request-trace.ts";
import type { TracedRequest } from "../../../src/machinery/tracing/request-trace.ts";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { statusSchema } from "../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../src/machinery/schema/protobuf/protobuf.ts";
import { decodeEnvelope } from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../turns-during.ts";
import { alice, serverWith, parsed } from "./chain-under-test.ts";

/** Starts a stream that nobody reads, and returns what ends it. */
function endOf(body: HttpResponse["body"]): () => void {
  assert.ok(typeof body === "object" && "start" in body);
  return body.start({ write: () => {}, bufferedBytes: () => 0, end: () => {} });
}

const one = "/api/v1/namespaces/n/serviceaccounts/a";

describe("the request chain", () => {
  it("authenticates a request for the API on a fresh cache only, and reports the wait as a step of its own", async () => {
    let becomeFresh = (): void => {};
    const fresh = new Promise<void>((resolve) => void (becomeFresh = resolve));
    const authenticated: (boolean | undefined)[] = [];
    const { send } = serverWith({
      waitForFreshCache: () => {
        currentTrace()?.begin("wait for fresh cache");
        return fresh;
      },
      authenticate: ({ hasFreshCache }) => {
        authenticated.push(hasFreshCache);
        throw unauthorized();
      },
    });
    const steps: string[] = [];
    const collect = (message: unknown): void =>
      (message as TracedRequest).steps.forEach(({ step, decided }) => steps.push(`${step}: ${decided}`)); // the channel's only kind
    requestChannel.subscribe(collect);
    try {
      const answers = ["/api", "/apis/", "/api/v1/namespaces", "//%61pi/v1"].map((path) => send(`GET ${path}`));
      assert.equal((await send("GET /healthz")).status, 401);
      assert.deepEqual(authenticated.splice(0), [undefined], "no wait outside the API");
      assert.deepEqual(steps.splice(0), ["parse: ", "authenticate: refused: 401 Unauthorized"]);
      becomeFresh();
      for (const answer of answers) assert.equal((await answer).status, 401);
      assert.deepEqual(authenticated, [true, true, true, true]);
      assert.deepEqual(steps.slice(0, 3), [
        ...["parse: ", "wait for fresh cache: ", "authenticate: refused: 401 Unauthorized"],
      ]);
    } finally {
      requestChannel.unsubscribe(collect);
    }
  });

  it("refuses a request for the API whose wait for a fresh cache fails", async () => {
    const { send } = serverWith({ waitForFreshCache: () => Promise.reject(tooManyRequests("the store is busy", 1)) });
    assert.equal((await send(`GET ${one}`)).status, 429);
    assert.equal((await send("GET /version")).status, 200);
  });

  it("answers bad credentials with 401 everywhere, before anything else", async () => {
    const refuse = (): never => {
      throw unauthorized();
    };
    const { send, decided } = serverWith({ authenticate: refuse });
    for (const path of ["/healthz", "/api", "/nope", one]) assert.equal((await send(`GET ${path}`)).status, 401, path);
    assert.deepEqual(decided, []);
  });

  for (const verb of ["GET", "DELETE"])
    it(`reads the selectors of long queries in turns of the event loop: ${verb}`, async (t) => {
      await nextTurn(); // the turns of other tests end
      takeTurnForEachLook(t);
      const turnsSoFar = turnsOfTest(t);
      const turns = new Set<number>();
      const { send } = serverWith({
        authorize: () => {
          turns.add(turnsSoFar());
          return { decision: "allow", reason: "" };
        },
      });
      const selector = encodeURIComponent(Array.from({ length: 500 }, (_, index) => `x${index}!=a`).join(","));
      const asked = Array.from({ length: 10 }, () =>
        send(`${verb} /api/v1/namespaces/n/serviceaccounts?labelSelector=${selector}`),
      );
      for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
      assert.equal(turns.size, 10);
    });

  it("reads the credentials of a request with a long query again after its turn", async () => {
    let isRevoked = false;
    const { send } = serverWith({
      refuseRevoked: () => {
        if (isRevoked) throw unauthorized();
      },
    });
    const answering = send(`GET /api/v1/namespaces?labelSelector=${"a,".repeat(2000)}b`);
    isRevoked = true;
    assert.equal((await answering).status, 401);
  });

  it("refuses in the same words as upstream", async () => {
    const { send } = serverWith({ authorize: () => ({ decision: "noOpinion", reason: "because" }) });
    const message = async (line: string): Promise<unknown> => parsed(await send(line))["message"];
    const user = 'User "alice" cannot';
    assert.equal(
      await message("GET /api/v1/namespaces/n/serviceaccounts"),
      `serviceaccounts is forbidden: ${user} list resource "serviceaccounts" in API group "" in the namespace "n": because`,
    );
    assert.equal(
      await message(`POST ${one}/token`),
      `serviceaccounts "a" is forbidden: ${user} create resource "serviceaccounts/token" in API group "" in the namespace "n": because`,
    );
    assert.equal(
      await message("GET /apis/nope.example.org/v1/things"),
      `things.nope.example.org is forbidden: ${user} list resource "things" in API group "nope.example.org" at the cluster scope: because`,
    );
    assert.equal(await message("GET /no/such/path"), `forbidden: ${user} get path "/no/such/path": because`);
    assert.match(String(await message("GET /a%3Cb%3E")), /path "\/a&lt;b&gt;"/);
    assert.equal((await send("GET /a%3Cb%3E")).headers["x-content-type-options"], "nosniff");
  });

  it("authorizes the impersonated user, with the name that a selector requires", async () => {
    const bob = { ...alice, username: "bob" };
    const { send, decided } = serverWith({ impersonate: () => Promise.resolve({ user: bob }) });
    await send("GET /api/v1/namespaces/n/serviceaccounts?fieldSelector=metadata.name%3Deve&labelSelector=a%3Db");
    await send("GET /api/v1/namespaces/n/serviceaccounts?fieldSelector=metadata.name!%3Deve");
    const [named, unnamed] = decided;
    assert.ok(named?.kind === "resource" && unnamed?.kind === "resource");
    assert.deepEqual([named.user.username, named.name, unnamed.name], ["bob", "eve", ""]);
  });

  const routed: readonly (readonly [line: string, expected: string])[] = [
    [`GET ${one}`, "200 get serviceaccounts"],
    [`POST ${one}/token`, "200 create serviceaccounts"],
    ["GET /api/v1/serviceaccounts", "200 list serviceaccounts"],
    ["GET /api/v1/watch/serviceaccounts", "200 watch serviceaccounts"],
    ["GET /api/v1/namespaces/n", "200 get namespaces"],
    ["POST /apis/authentication.platform.io/v1/tokenreviews", "200 create tokenreviews"],
    [
      "PUT /apis/certificates.platform.io/v1/certificatesigningrequests/x/approval",
      "200 update certificatesigningrequests",
    ],
    ["POST /api/v1/watch/serviceaccounts", "405 MethodNotAllowed"],
    ["PUT /api/v1/namespaces/n/serviceaccounts", "405 MethodNotAllowed"],
    ["DELETE /api/v1/serviceaccounts", "405 MethodNotAllowed"],
    [`POST ${one}`, "405 MethodNotAllowed"],
    [`HEAD ${one}`, "405 MethodNotAllowed"],
    [`OPTIONS ${one}`, "405 MethodNotAllowed"],
    [`GET ${one}/token`, "405 MethodNotAllowed"],
    ["DELETE /apis/certificates.platform.io/v1/certificatesigningrequests/x/approval", "405 MethodNotAllowed"],
    ["OPTIONS /api/v1/nope", "404 NotFound"],
    ["GET /api/v1/serviceaccounts/x", "404 NotFound"],
    ["GET /api/v1/namespaces/n/namespaces", "404 NotFound"],
    ["GET /apis/certificates.platform.io/v1/namespaces/n/certificatesigningrequests", "404 NotFound"],
    [`GET ${one}/token/more`, "404 NotFound"],
    ["GET /api/v1/watch/namespaces/n/serviceaccounts/a/token", "404 NotFound"],
    [`GET ${one}/constructor`, "404 NotFound"],
    ["GET /api/v2", "404 NotFound"],
    ["GET /api/certificates.platform.io/v1", "404 NotFound"],
    ["GET /apis/certificates.platform.io/v9", "404 NotFound"],
    ["GET /apis/certificates.platform.io/v9/certificatesigningrequests", "404 NotFound"],
    ["GET /apis/nope.example.com", "404 page not found"],
    ["GET /apis/nope.example.com/v1/things", "404 page not found"],
    ["GET /apis/v1", "404 page not found"],
    ["GET /API/v1", "404 page not found"],
    ["GET /nope", "404 page not found"],
    ["GET /healthz/", "404 page not found"],
    ["GET /api/v1/%zz", "400 BadRequest"],
    ["POST /api", "405 MethodNotAllowed"],
    ["PUT /apis/certificates.platform.io/v1", "405 MethodNotAllowed"],
    ["DELETE /version", "405 MethodNotAllowed"],
  ];
  for (const [line, expected] of routed) {
    it(`answers ${line} with ${expected}`, async () => {
      const { status, body } = await serverWith().send(line);
      const text = String(body).trim();
      const word = text.startsWith("{")
        ? String((JSON.parse(text) as { reason?: string }).reason)
        : text.replace(/^404 /, "");
      assert.equal(`${status} ${word}`, expected);
    });
  }

  it("shows an expected failure and hides an unexpected one, which it logs", async () => {
    const failing = serverWith({
      handleResource: ({ info: { name } }) => {
        if (name === "known") throw conflict({ group: "", resource: "serviceaccounts" }, { name, message: "changed" });
        return Promise.reject(new TypeError("secret detail"));
      },
    });
    assert.equal((await failing.send("GET /api/v1/namespaces/n/serviceaccounts/known")).status, 409);
    assert.deepEqual(failing.logged, []);
    const response = await failing.send(`GET ${one}?token=secret-part`);
    assert.equal(response.status, 500);
    assert.doesNotMatch(String(response.body), /secret/);
    assert.equal(failing.logged.length, 1);
    assert.doesNotMatch(JSON.stringify(failing.logged), /secret-part/);
  });

  it("renders failures in the format that is accepted, with the seconds to wait", async () => {
    const yaml = serverWith({
      handleResource: () => {
        throw notFound({ group: "", resource: "serviceaccounts" }, "a");
      },
    });
    const answer = await yaml.send(`GET ${one}`, { accept: "application/yaml" });
    assert.equal(answer.headers["content-type"], "application/yaml");
    assert.match(String(answer.body), /^apiVersion: v1\ncode: 404\n/);
    const busy = serverWith({
      handleResource: () => {
        throw tooManyRequests("later", 7);
      },
    });
    assert.equal((await busy.send(`GET ${one}`)).headers["retry-after"], "7");
  });

  it("gives every response a unique audit id and forbids caching", async () => {
    const { send } = serverWith();
    const [first, second] = [await send(`GET ${one}`), await send("GET /nope")];
    assert.match(String(first.headers["audit-id"]), /^[0-9a-f-]{36}$/);
    assert.notEqual(first.headers["audit-id"], second.headers["audit-id"]);
    assert.equal(first.headers["cache-control"], "no-cache, private");
  });

  it("uses the audit id of the client", async () => {
    const { send } = serverWith();
    assert.equal((await send(`GET ${one}`, { "audit-id": "mine" })).headers["audit-id"], "mine");
    const long = await send(`GET ${one}`, { "audit-id": "m".repeat(60_000) });
    assert.equal(long.headers["audit-id"], "m".repeat(1024));
    assert.match(String((await send(`GET ${one}`, { "audit-id": "" })).headers["audit-id"]), /^[0-9a-f-]{36}$/);
  });

  it("sends errors in protobuf to clients that prefer it", async () => {
    const failures = [unauthorized(), notFound({ group: "", resource: "pods" }, "p"), tooManyRequests("later", 7)];
    for (const failure of failures) {
      const { send } = serverWith({
        handleResource: () => {
          throw failure;
        },
      });
      const response = await send(`GET ${one}`, { accept: "application/vnd.kubernetes.protobuf,application/json" });
      assert.equal(response.status, failure.code);
      assert.equal(response.headers["content-type"], "application/vnd.kubernetes.protobuf");
      const { apiVersion, kind, raw } = decodeEnvelope(response.body as Buffer);
      const status = { apiVersion, kind, ...compileProtobuf(statusSchema).decode(raw) };
      assert.deepEqual(
        compileDecoder(statusSchema)(status).value,
        compileDecoder(statusSchema)(statusOf(failure)).value,
      );
    }
  });

  it("compresses only large responses, and only for clients that accept gzip", async () => {
    const large = "x".repeat(200_000);
    const { send } = serverWith({
      handleResource: ({ info: { name } }) => ({ status: 200, headers: {}, body: name === "large" ? large : "small" }),
    });
    const at = (name: string): string => `GET /api/v1/namespaces/n/serviceaccounts/${name}`;
    const packed = await send(at("large"), { "accept-encoding": "br, gzip" });
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(packed.body as Buffer).toString(), large);
    for (const [name, coding] of [
      ["large", "br"],
      ["large", "gzip;q=0"],
      ["small", "gzip"],
    ] as const) {
      assert.equal(
        (await send(at(name), { "accept-encoding": coding })).headers["content-encoding"],
        undefined,
        coding,
      );
    }
  });

  it("refuses requests beyond those that may run and wait, but never watches, health checks or administrators", async () => {
    const release = Promise.withResolvers<HttpResponse>();
    const root: UserInfo = { username: "root", groups: ["system:masters"], extra: {} };
    const { send } = serverWith({
      maximumReads: 1,
      authenticate: ({ headers }) => (headers["x-root"] ? root : alice),
      handleResource: ({ info: { verb } }) =>
        verb === "get" ? release.promise : { status: 200, headers: {}, body: "at once" },
    });
    const accepted = Array.from({ length: 3 }, () => send(`GET ${one}`));
    const refused = await send(`GET ${one}`);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal((await send("GET /api/v1/serviceaccounts?watch=1")).status, 200);
    assert.equal((await send("GET /healthz")).status, 200);
    assert.equal((await send("GET /api/v1/serviceaccounts", { "x-root": "yes" })).status, 200);
    release.resolve({ status: 200, headers: {}, body: "done" });
    assert.deepEqual(
      (await Promise.all(accepted)).map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal((await send("GET /api/v1/serviceaccounts")).status, 200);
  });

  it("keeps reads, also of other paths, and writes apart, and exempts exactly the health checks", async () => {
    const begun: string[] = [];
    const gate = Promise.withResolvers<void>();
    const server = serverWith({
      maximumReads: 1,
      maximumWrites: 1,
      impersonate: async ({ method, path }, { user }) => {
        begun.push(`${method} ${path}`);
        await gate.promise;
        return { user };
      },
    });
    const served = [
      "GET /api/v1/namespaces",
      "POST /api/v1/namespaces",
      "GET /readyz",
      "GET /livez/ping",
      "GET /healthz",
    ];
    const waiting = [
      "GET /openid/v1/jwks",
      "GET /a/healthz",
      "PUT /api/v1/namespaces/a",
      "DELETE /api/v1/namespaces/a",
    ];
    const answers = [...served, ...waiting].map(async (line) => server.send(line));
    await nextTurn();
    const begunAtOnce = [...begun];
    gate.resolve();
    await Promise.all(answers);
    assert.deepEqual(begunAtOnce, served);
    assert.deepEqual(begun.slice(served.length).toSorted(), waiting.toSorted());
  });

  it("does no work for a request whose client has left while it waited", async () => {
    const release = Promise.withResolvers<HttpResponse>();
    let handled = 0;
    const { send, sendRequest } = serverWith({
      maximumReads: 1,
      handleResource() {
        handled += 1;
        return release.promise;
      },
    });
    const leaving = new AbortController();
    const answering = [send(`GET ${one}`), sendRequest(`GET ${one}`, { signal: leaving.signal })];
    leaving.abort();
    release.resolve({ status: 200, headers: {}, body: "done" });
    assert.deepEqual(
      (await Promise.all(answering)).map(({ status }) => status),
      [200, 400],
    );
    assert.equal(handled, 1);
  });

  it("lets no request of a transaction wait, for which the others of it may wait in their places", async () => {
    const release = Promise.withResolvers<HttpResponse>();
    const done: HttpResponse = { status: 200, headers: {}, body: "done" };
    const { send, sendRequest } = serverWith({
      maximumWrites: 1,
      handleResource: ({ request }) => (request.inProcess === undefined ? release.promise : done),
    });
    const running = send(`DELETE ${one}`);
    const [transaction] = startTransaction(1);
    const member = await sendRequest(`DELETE ${one}`, { inProcess: { value: undefined, transaction } });
    release.resolve(done);
    assert.deepEqual([member.status, (await running).status], [200, 200]);
  });

  it("hands on a request without the headers that carry an identity", async () => {
    let handed: HttpRequest["headers"] | undefined;
    const { send } = serverWith({
      withoutIdentity: (request) => ({ ...request, headers: { accept: "*/*" } }),
      handleResource({ request }) {
        handed = request.headers;
        return { status: 200, headers: {}, body: "" };
      },
    });
    await send(`GET ${one}`, { accept: "*/*", authorization: "Bearer secret" });
    assert.deepEqual(handed, { accept: "*/*" });
  });

  it("tells how long a request waited for its turn", async (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    const release = Promise.withResolvers<HttpResponse>();
    const times: (readonly number[])[] = [];
    const { send } = serverWith({
      maximumReads: 1,
      handleResource: () => release.promise,
      onAnswered: ({ seconds, queuedSeconds }) => times.push([seconds, queuedSeconds]),
    });
    const answering = [send(`GET ${one}`), send(`GET ${one}`)];
    now += 2000;
    release.resolve({ status: 200, headers: {}, body: "done" });
    await Promise.all(answering);
    assert.deepEqual(times, [
      [2, 0],
      [2, 2],
    ]);
  });

  it("refuses a request whose credential was revoked while it waited for its turn", async () => {
    const release = Promise.withResolvers<HttpResponse>();
    let isRevoked = false;
    const { send } = serverWith({
      maximumReads: 1,
      refuseRevoked() {
        if (isRevoked) throw unauthorized();
      },
      handleResource: () => release.promise,
    });
    const answering = [send(`GET ${one}`), send(`GET ${one}`)];
    isRevoked = true;
    release.resolve({ status: 200, headers: {}, body: "done" });
    assert.deepEqual(
      (await Promise.all(answering)).map(({ status }) => status),
      [200, 401],
    );
  });

  it("refuses a request whose credential was revoked while its authorizer or its impersonation was asked", async () => {
    for (const slow of ["authorize", "impersonate"] as const) {
      const asked = Promise.withResolvers<void>();
      let isRevoked = false;
      const { send } = serverWith({
        refuseRevoked() {
          if (isRevoked) throw unauthorized();
        },
        ...(slow === "authorize" && { authorize: () => asked.promise.then(() => ({ decision: "allow", reason: "" })) }),
        ...(slow === "impersonate" && { impersonate: (_request, { user }) => asked.promise.then(() => ({ user })) }),
      });
      const answering = send(`GET ${one}`);
      isRevoked = true;
      asked.resolve();
      assert.equal((await answering).status, 401, slow);
    }
  });

  it("refuses a watch of a user with too many, until one ends, and counts it", async () => {
    const root: UserInfo = { username: "root", groups: ["system:masters"], extra: {} };
    const { send } = serverWith({
      maximumWatches: 8,
      authenticate: ({ headers }) => (headers["x-root"] ? root : { ...alice, username: String(headers["x-user"]) }),
      handleResource: ({ request }) =>
        request.query.includes("bad")
          ? Promise.reject(badRequest("bad"))
          : { status: 200, headers: {}, body: { start: () => () => {} } },
    });
    const watch = (user: string, query = ""): Promise<HttpResponse> =>
      send(`GET /api/v1/serviceaccounts?watch=1${query}`, user === "root" ? { "x-root": "yes" } : { "x-user": user });
    const end = endOf((await watch("bob")).body);
    assert.equal((await watch("bob")).status, 200);
    const refused = await watch("bob");
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "10");
    end();
    for (const attempt of [1, 2]) assert.equal((await watch("bob", "&bad")).status, 400, `${attempt}`);
    assert.deepEqual([(await watch("bob")).status, (await watch("bob")).status], [200, 429]);
    assert.deepEqual([(await watch("carol")).status, (await watch("root")).status], [200, 200]);
    const metrics = String((await send("GET /metrics", { "x-root": "yes" })).body);
    assert.match(metrics, /^apiserver_request_terminations_total\{request_kind="watch"\} 2$/m);
  });

  it("uses only served resources and verbs as metric labels", async () => {
    const { send } = serverWith();
    await send(`GET ${one}`);
    await send("GET /api/v1/made-up-by-a-caller");
    await send("MADEUP /api");
    const text = String((await send("GET /metrics")).body);
    const labels =
      'verb="GET",dry_run="",group="",version="v1",resource="serviceaccounts",subresource="",scope="resource",component="apiserver"';
    assert.ok(text.includes(`apiserver_request_total{${labels},code="200"} 1`), text.slice(0, 300));
    assert.ok(text.includes(`apiserver_request_duration_seconds_count{${labels}} 1`));
    assert.doesNotMatch(text, /made-up|MADEUP/);
  });
});
