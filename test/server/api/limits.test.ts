import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";
import { gunzipSync } from "node:zlib";
import { before, describe, it } from "node:test";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { Answer, SentRequest } from "../in-process.ts";
import { turnsDuring } from "../../turns-during.ts";

const collection = "/api/v1/namespaces/default/configmaps";

describe("a large answer", () => {
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    server = await startTestServer();
    api = new InProcess(server);
    const body = (name: string): object => ({ metadata: { name }, data: { text: "x".repeat(100_000) } });
    for (const name of ["a", "b"]) await api.json(collection, { method: "POST", body: body(name) });
  });

  it("repeats no deep indent in each line, whatever a client sent as the fields of a manager", async () => {
    for (const depth of [50, 900]) {
      const leaves = Array.from({ length: 300 }, (_, index) => `"f:${index}":{}`).join();
      const fieldsV1 = JSON.parse(`${'{"f:a":'.repeat(depth)}{${leaves}}${"}".repeat(depth)}`);
      const managedFields = [{ manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 }];
      const body = { metadata: { name: `depth-${depth}`, managedFields }, data: { a: "1" } };
      await api.json(collection, { method: "POST", body });
      const sentBytes = JSON.stringify(body).length;
      for (const [query, accept] of [
        ["", "application/yaml"],
        ["?pretty=true", "application/json"],
      ] as const) {
        const answer = await api.send(`${collection}/depth-${depth}${query}`, { headers: { accept } });
        const { length } = answer.body as Buffer;
        assert.ok(length < 15 * sentBytes, `${accept}: ${length} bytes for ${sentBytes}`);
      }
    }
  });

  it("is compressed for clients that accept gzip, in every representation, with the same content", async () => {
    const { metadata } = await api.json(collection);
    // Controllers write in the meantime, but the list of one version stays the same.
    const list = `${collection}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
    for (const accept of ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]) {
      const plain = await api.send(list, { headers: { accept } });
      const packed = await api.send(list, { headers: { accept, "accept-encoding": "gzip" } });
      assert.equal(plain.headers["content-encoding"], undefined);
      assert.equal(packed.headers["content-encoding"], "gzip", accept);
      assert.equal(packed.headers["content-type"], plain.headers["content-type"]);
      assert.ok(gunzipSync(packed.body as Buffer).equals(Buffer.from(plain.body as Buffer)), accept);
    }
    const small = await api.send(`${collection}/a`, { headers: { "accept-encoding": "gzip" } });
    assert.equal(small.headers["content-encoding"], undefined);
  });

  it("names every header that it depends on for caches", async () => {
    const vary = async (headers: Record<string, string>): Promise<unknown> =>
      (await api.send("/openapi/v2", { headers })).headers["vary"];
    assert.deepEqual(
      [await vary({}), await vary({ "accept-encoding": "gzip" })],
      ["Accept", "Accept, Accept-Encoding"],
    );
  });

  it("is indented on request, and for people at a terminal", async () => {
    const indented = async (target: string, headers: Record<string, string> = {}): Promise<boolean> =>
      String((await api.send(target, { headers })).body).startsWith('{\n  "kind"');
    assert.equal(await indented(`${collection}/a`), false);
    assert.equal(await indented(`${collection}/a?pretty=true`), true);
    assert.equal(await indented(`${collection}?pretty=1`), true);
    assert.equal(await indented(`${collection}/a`, { "user-agent": "curl/8" }), true);
    assert.equal(await indented(`${collection}/a?pretty=false`, { "user-agent": "curl/8" }), false);
    assert.equal(await indented(`${collection}/none?pretty=true`), true);
  });
});

describe("a server that is busy", () => {
  let server: TestServer;
  let api: InProcess;
  const tokens = new Map<string, string>();
  before(async () => {
    // Controllers would have to wait, too.
    const controllers = "-*";
    server = await startTestServer({
      settings: { "max-mutating-requests-inflight": 1, "max-requests-inflight": 1, controllers },
    });
    api = new InProcess(server);
    for (const name of ["greedy", "modest"]) {
      const accounts = "/api/v1/namespaces/default/serviceaccounts";
      await api.json(accounts, { method: "POST", body: { metadata: { name } } });
      const request = { spec: { audiences: [] } };
      const { status } = await api.json<{ status: { token: string } }>(`${accounts}/${name}/token`, {
        method: "POST",
        body: request,
      });
      tokens.set(name, status.token);
    }
  });

  /** A review whose body is sent only when `finish` is called. Until then, the request occupies a slot. */
  const review = (name: string, bytes: Promise<Buffer>): Promise<HttpResponse> =>
    server.handler({
      method: "POST",
      path: "/apis/authentication.platform.io/v1/selfsubjectreviews",
      query: "",
      headers: { authorization: `Bearer ${tokens.get(name) ?? ""}`, "content-type": "application/json" },
      connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
      readBody: () => bytes,
      signal: new AbortController().signal,
    });
  const body = Promise.resolve(Buffer.from("{}"));

  it("queues a user's requests, sends Retry-After, and serves other users in turn", async () => {
    const held = Promise.withResolvers<Buffer>();
    const order: string[] = [];
    const told = (name: string, answering: Promise<HttpResponse>): Promise<number> =>
      answering.then(({ status }) => {
        order.push(`${name} ${status}`);
        return status;
      });
    const running = told("first", review("greedy", held.promise));
    // Each starts in a separate event loop turn, so that this is the order of arrival.
    const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await nextTurn();
    const waiting = told("greedy", review("greedy", body));
    await nextTurn();
    const refused = await review("greedy", body);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "1");
    const { reason, details } = JSON.parse(String(refused.body)) as Answer & { details: { retryAfterSeconds: number } };
    assert.deepEqual([reason, details.retryAfterSeconds], ["TooManyRequests", 1]);
    const other = told("modest", review("modest", body));
    await nextTurn();
    assert.deepEqual(order, []);
    // An administrator never waits.
    assert.equal((await api.json(collection)).kind, "ConfigMapList");
    held.resolve(Buffer.from("{}"));
    assert.deepEqual(await Promise.all([running, waiting, other]), [201, 201, 201]);
    assert.deepEqual(order, ["first 201", "greedy 201", "modest 201"]);
  });

  it("frees its places afterwards", async () => {
    for (const name of ["greedy", "modest", "greedy"]) assert.equal((await review(name, body)).status, 201);
  });
});

describe("service accounts of one namespace that never send their bodies", () => {
  let server: TestServer;
  const tokens = new Map<string, string>();
  before(async () => {
    server = await startTestServer();
    const api = new InProcess(server);
    const accounts = ["evil/a", "evil/b", "evil/c", "evil/d", "evil/e", "good/a", "platform-system/a"];
    for (const namespace of ["evil", "good"])
      await api.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name: namespace } } });
    for (const account of accounts) {
      const [namespace, name] = account.split("/");
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
      await api.json(path, { method: "POST", body: { metadata: { name } } });
      const sent = { method: "POST", body: { spec: { audiences: [] } } };
      const { status } = await api.json<{ status: { token: string } }>(`${path}/${name}/token`, sent);
      tokens.set(account, status.token);
    }
  });

  it("leave places for those of other namespaces, and for the system", async () => {
    const bytes = Promise.withResolvers<Buffer>();
    const review = (account: string, readBody: () => Promise<Buffer>): Promise<HttpResponse> =>
      server.handler({
        method: "POST",
        path: "/apis/authentication.platform.io/v1/selfsubjectreviews",
        query: "",
        headers: { authorization: `Bearer ${tokens.get(account) ?? ""}`, "content-type": "application/json" },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody,
        signal: new AbortController().signal,
      });
    const held = ["a", "b", "c", "d", "e"].flatMap((name) =>
      Array.from({ length: 170 }, () => review(`evil/${name}`, () => bytes.promise)),
    );
    for (const account of ["good/a", "platform-system/a"]) {
      assert.equal((await review(account, () => Promise.resolve(Buffer.from("{}")))).status, 201, account);
    }
    bytes.resolve(Buffer.from("{}"));
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([201, 429]));
  });
});

describe("a burst of long requests", () => {
  let server: TestServer;
  let api: InProcess;
  const tokens = new Map<string, string>();
  before(async () => {
    server = await startTestServer();
    api = new InProcess(server);
    const apiGroup = "rbac.authorization.platform.io";
    const access = `/apis/${apiGroup}/v1/namespaces/default`;
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "create", "patch", "delete"] }];
    await api.json(`${access}/roles`, { method: "POST", body: { metadata: { name: "editor" }, rules } });
    await api.json(`${access}/rolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "editors" },
        roleRef: { apiGroup, kind: "Role", name: "editor" },
        subjects: [{ apiGroup, kind: "Group", name: "system:serviceaccounts:default" }],
      },
    });
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    for (const name of ["greedy", "modest"]) {
      await api.json(accounts, { method: "POST", body: { metadata: { name } } });
      const { status } = await api.json<{ status: { token: string } }>(`${accounts}/${name}/token`, {
        method: "POST",
        body: { spec: { audiences: [] } },
      });
      tokens.set(name, status.token);
    }
    const data = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key-${n}`, "x".repeat(100)]));
    await api.json(collection, { method: "POST", body: { metadata: { name: "long" }, data } });
    await api.json(collection, { method: "POST", body: { metadata: { name: "short" } } });
    const text = "x".repeat(4000);
    await api.json(collection, { method: "POST", body: { metadata: { name: "medium" }, data: { text } } });
  });

  /** In the order in which they came, ten would be answered before. One is; on a busy machine, whose turns end earlier, sometimes two. */
  const few = 4;

  /** Sends ten requests as one user, then one as another. Returns how many are answered before that one. */
  async function answeredBefore(longOne: string, sent: SentRequest, otherOne = longOne): Promise<number> {
    let answered = 0;
    const send = (target: string, user: string): Promise<number> =>
      api.send(target, { ...sent, token: tokens.get(user) ?? "" }).then(({ status }) => {
        assert.ok(status === 200 || status === 201, `${status}`);
        return answered++;
      });
    const burst = Array.from({ length: 10 }, () => send(longOne, "greedy"));
    const before = await send(otherOne, "modest");
    await Promise.all(burst);
    return before;
  }

  const yaml = { headers: { accept: "application/yaml" } };

  it("does not delay short requests", async () => {
    assert.equal(await answeredBefore(`${collection}/long`, yaml, `${collection}/short`), 0);
    assert.equal(await answeredBefore(`${collection}/long`, yaml, "/livez"), 0);
  });

  it("lets users take turns with long objects, long bodies and long lists", async () => {
    assert.ok((await answeredBefore(`${collection}/long`, yaml)) <= few);
    const review = { spec: { resourceAttributes: { verb: "get", resource: "x".repeat(30_000) } } };
    const reviews = "/apis/authorization.platform.io/v1/selfsubjectaccessreviews";
    let answered = 0;
    const send = (user: string): Promise<number> =>
      api
        .send(reviews, { method: "POST", body: review, token: tokens.get(user) ?? "" })
        .then(({ status }) => (assert.equal(status, 201), answered++));
    const burst = Array.from({ length: 10 }, () => send("greedy"));
    assert.ok((await send("modest")) <= few);
    await Promise.all(burst);
    assert.ok((await answeredBefore(collection, yaml)) <= few);
  });

  it("lets users take turns with objects of a few kilobytes that are changed, or shown in another form than JSON", async () => {
    const medium = `${collection}/medium`;
    assert.ok((await answeredBefore(medium, yaml)) <= few);
    assert.ok((await answeredBefore(`${medium}?pretty=true`, {})) <= few);
    const patch = {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels: { a: "b" } } },
    };
    assert.ok((await answeredBefore(`${medium}?dryRun=All`, patch)) <= few);
  });

  it("lets users take turns with bodies of a few kilobytes", async () => {
    const text = "x".repeat(4000);
    const create = { method: "POST", body: { metadata: { name: "other" }, data: { text } } };
    assert.ok((await answeredBefore(`${collection}?dryRun=All`, create)) <= few);
    const review = { method: "POST", body: { spec: { resourceAttributes: { verb: "get", resource: text } } } };
    assert.ok((await answeredBefore("/apis/authorization.platform.io/v1/selfsubjectaccessreviews", review)) <= few);
  });

  it("lets users take turns with YAML of any length", async () => {
    const sent = (method: string, type: string, text: string): SentRequest => ({
      method,
      headers: { "content-type": `application/${type}yaml` },
      body: text,
    });
    const [short, reviews] = [`${collection}/short`, "/apis/authorization.platform.io/v1/selfsubjectaccessreviews"];
    const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: short}\ndata: {key: value}\n";
    const apply = sent("PATCH", "apply-patch+", configMap);
    const review = sent("POST", "", "spec: {resourceAttributes: {verb: get, resource: x}}\n");
    assert.ok((await answeredBefore(`${short}?dryRun=All&fieldManager=test`, apply)) <= few);
    assert.ok((await answeredBefore(reviews, review)) <= few);
    assert.ok((await answeredBefore(short, sent("DELETE", "", "dryRun: [All]\n"))) <= few);
  });

  it("lets others come in between the steps of a long write", async (t) => {
    let milliseconds = performance.now();
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    const data = { text: "a".repeat(30_000) };
    const turnsOf = async (method: string, type: string): Promise<number> => {
      const name = method === "POST" ? "other" : "short";
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
      return turnsDuring(async () => {
        const { status } = await server.handler({
          method,
          path: method === "POST" ? collection : `${collection}/short`,
          query: "dryRun=All&fieldManager=test",
          headers: { authorization: `Bearer ${server.adminToken}`, "content-type": type },
          connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
          readBody: async () => Buffer.from(JSON.stringify(object)),
          signal: new AbortController().signal,
        });
        assert.ok(status === 200 || status === 201, `${status}`);
      });
    };
    for (const [method, type, leastTurns] of [
      ["POST", "application/json", 4],
      ["PUT", "application/json", 4],
      ["PATCH", "application/merge-patch+json", 4],
      ["PATCH", "application/apply-patch+yaml", 8],
    ] as const) {
      const turns: number[] = [];
      // Several times: what a first request needs takes turns, too.
      for (let time = 0; time < 5; time++) turns.push(await turnsOf(method, type));
      assert.ok(Math.min(...turns) >= leastTurns, `${method} ${type}: ${turns.join()} turns`);
    }
  });

  it("lets users take turns with changes of a long object whose bodies all come at once", async () => {
    const body = Promise.withResolvers<Buffer>();
    let waiting = 0;
    let answered = 0;
    const patch = async (user: string): Promise<number> => {
      const { status } = await server.handler({
        method: "PATCH",
        path: `${collection}/long`,
        query: "",
        headers: {
          authorization: `Bearer ${tokens.get(user) ?? ""}`,
          "content-type": "application/merge-patch+json",
        },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody: () => {
          waiting += 1;
          return body.promise;
        },
        signal: new AbortController().signal,
      });
      assert.equal(status, 200);
      return answered++;
    };
    const untilWait = (requests: number): Promise<unknown> =>
      eventually(`${requests} requests wait for their bodies`, () => waiting === requests);
    const burst = Array.from({ length: 10 }, () => patch("greedy"));
    await untilWait(10);
    const other = patch("modest");
    await untilWait(11);
    body.resolve(Buffer.from("{}"));
    assert.equal(await other, 1);
    await Promise.all(burst);
  });

  it("does no work for clients that leave while they wait", async () => {
    for (const path of [collection, `${collection}/long`]) {
      const leaving = new AbortController();
      const answering = server.handler({
        method: "GET",
        path,
        query: "",
        headers: { authorization: `Bearer ${server.adminToken}`, accept: "application/yaml" },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody: () => Promise.reject(new Error("it has no body")),
        signal: leaving.signal,
      });
      leaving.abort();
      assert.equal((await answering).status, 504, path);
    }
  });
});

describe("a server with as many connections as it may have", () => {
  it("takes new clients in place of those without a name that do not read their answers, and keeps the watches of users", async () => {
    const server = await startTestServer({ settings: { "max-connections": 3 } });
    const api = new InProcess(server);
    const open = (initialWindowSize: number): ClientHttp2Session =>
      connect(server.url, { ca: server.caCertificates, settings: { initialWindowSize } }).on("error", () => {});
    const watching = open(65_535);
    const authorization = `Bearer ${server.adminToken}`;
    const watch = watching.request({
      ":path": `${collection}?watch=1&fieldSelector=metadata.name=seen`,
      authorization,
    });
    await once(watch, "response");
    for (let index = 0; index < 5; index++) {
      const stuck = open(0).request({ ":path": "/version" });
      stuck.on("error", () => {}); // its connection is closed
      await once(stuck, "response");
    }
    const user = open(65_535);
    const [headers] = (await once(user.request({ ":path": "/livez" }), "response")) as [IncomingHttpHeaders];
    assert.equal(headers[":status"], 200);
    await api.json(collection, { method: "POST", body: { metadata: { name: "seen" } } });
    assert.match(String((await once(watch, "data"))[0]), /^\{"type":"ADDED",.*"name":"seen"/);
    for (const session of [watching, user]) session.destroy();
  });
});
