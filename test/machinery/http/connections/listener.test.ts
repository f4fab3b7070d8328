import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectHttp2, constants } from "node:http2";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  SecureClientSessionOptions,
} from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { connect as connectTls } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { Schedule } from "../../../../src/machinery/api/clock.ts";
import type { ByteSink, Handler, HttpRequest, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { ConnectionRoom } from "../../../../src/machinery/http/connections/connection-room.ts";
import type { ConnectionLimits } from "../../../../src/machinery/http/connections/connection-room.ts";
import { HandshakeTurns } from "../../../../src/machinery/http/connections/handshake-turns.ts";
import { createListener } from "../../../../src/machinery/http/connections/listener.ts";
import type { Listener, ListenerLimits, ListenerTls } from "../../../../src/machinery/http/connections/listener.ts";
import { errorResponse } from "../../../../src/machinery/http/response.ts";
import { resetFrame } from "../../../../src/machinery/http2/control-frames.ts";
import { clientPreface, errorCodes, settingIds } from "../../../../src/machinery/http2/protocol.ts";
import { encodeFrame, get as getFrame, reset, settings, windowUpdate } from "../../http2/frame-client.ts";
import type { RawFrame } from "../../http2/frame-client.ts";
import { protocols, sendThenLeave } from "../leaving-client.ts";
import type { ServingCertificate } from "../../../../src/machinery/http/connections/serving-context.ts";
import { WaitingRequests } from "../../../../src/machinery/http/connections/waiting-requests.ts";
import { ManualTime } from "../../../manual-time.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../../turns-during.ts";

let directory: string;
let serving: ServingCertificate;
let renewed: ServingCertificate;
let client: ServingCertificate;

before(() => {
  directory = mkdtempSync(join(tmpdir(), "signet-listener-"));
  const make = (name: string): ServingCertificate => {
    const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.crt`)];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  };
  [serving, renewed, client] = [make("serving"), make("renewed"), make("client")];
});
after(() => rmSync(directory, { recursive: true }));

const text = (body: string, status = 200): HttpResponse => ({
  status,
  headers: { "content-type": "text/plain" },
  body,
});

/**
 * Echoes the request. `/hang` never answers, `/body` answers the body's length, `/peer` the client certificate's
 * subject.
 */
const echo: Handler = async (request) => {
  try {
    if (request.path === "/hang") await once(request.signal, "abort");
    if (request.path === "/body") return text(String((await request.readBody()).length));
    if (request.path === "/peer") return text(request.connection.peerCertificates.map(({ subject }) => subject).join());
    return text(
      JSON.stringify({
        method: request.method,
        path: request.path,
        query: request.query,
        group: request.headers["x-group"],
      }),
    );
  } catch (error) {
    return errorResponse(error as ApiError, request);
  }
};

interface NewListener {
  readonly handler?: Handler;
  readonly limits?: Partial<ListenerLimits>;
  readonly schedule?: Schedule;
  readonly isSweptByTime?: boolean;
}

const tls: ListenerTls = { protocol: { minVersion: "TLSv1.2" }, contextFor: undefined };

/** Unless time sweeps it, seconds pass when a test sweeps: on a busy machine, some pass between two steps of a test. */
function newListener({ handler = echo, limits = {}, isSweptByTime = false, ...more }: NewListener = {}): Listener {
  const never = setInterval(() => undefined, 2 ** 31 - 1).unref();
  const interval = isSweptByTime ? undefined : mock.method(globalThis, "setInterval", () => never);
  try {
    return createListener({
      handler,
      certificate: serving,
      tls,
      limits,
      log: { warn: () => undefined, error: () => undefined },
      ...more,
    });
  } finally {
    interval?.mock.restore();
  }
}

async function withListener(
  options: NewListener,
  use: (port: number, listener: Listener) => Promise<void>,
): Promise<void> {
  const listener = newListener(options);
  const port = await listener.listen({ host: "127.0.0.1", port: 0 });
  try {
    await use(port, listener);
  } finally {
    await listener.close({ graceMilliseconds: 0 });
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Buffer | string;
}

function openHttp2(port: number, options: SecureClientSessionOptions = {}): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...options });
  session.on("error", () => undefined);
  return session;
}

async function sendHttp2(
  session: ClientHttp2Session,
  { path, method = "GET", headers = {}, body }: Sent,
): Promise<Answer> {
  const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
  let received = "";
  for await (const chunk of stream.setEncoding("utf8")) received += String(chunk);
  return { status: head[":status"], body: received, headers: head };
}

async function sendHttp1(port: number, { path, method = "GET", headers = {}, body }: Sent): Promise<Answer> {
  const request = httpsRequest({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers,
    rejectUnauthorized: false,
    agent: false,
  });
  request.on("error", () => undefined);
  request.end(body);
  const [response] = await once(request, "response");
  let received = "";
  for await (const chunk of response.setEncoding("utf8")) received += String(chunk);
  return { status: response.statusCode, body: received, headers: response.headers };
}

async function openTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    ...options,
  });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** Sends raw bytes and returns everything that arrives until the server closes the connection. */
async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = await openTls(port);
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  socket.write(bytes);
  if (!socket.closed) await once(socket, "close");
  return received;
}

/** Changes the keys of a connection so many times, or until the server ends it, then gets "/". Returns the changes and what was received. */
async function changeKeys(
  port: number,
  times: number,
): Promise<{ readonly changes: number; readonly received: string }> {
  const client = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${port}`], { stdio: "pipe" });
  client.stdin.on("error", () => undefined);
  let changes = 0;
  let received = "";
  client.stdout.setEncoding("utf8").on("data", (text: string) => (received += text));
  client.stdout.once("data", () => client.stdin.write("k\n"));
  client.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (!text.includes("KEYUPDATE")) return;
    changes += 1;
    client.stdin.write(changes < times ? "k\n" : "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  });
  await once(client, "close");
  return { changes, received };
}

const statusesOf = (received: string): (string | undefined)[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

describe("the listener", () => {
  it("serves HTTP/2 and HTTP/1.1 alike on one port", () =>
    withListener({}, async (port) => {
      const session = openHttp2(port);
      const sent = { path: "/a%20b?c=d", headers: { "x-group": ["one, two", "three"] } };
      const expected = { method: "GET", path: "/a%20b", query: "c=d", group: ["one, two", "three"] };
      const answers = [await sendHttp2(session, sent), await sendHttp1(port, sent)];
      session.close();
      assert.deepEqual(
        answers.map(({ body }) => JSON.parse(body) as unknown),
        [expected, expected],
      );
      assert.deepEqual(
        answers.map(({ headers, body }) => headers["content-length"] === String(body.length)),
        [true, true],
      );
      const isNow = (date = ""): boolean => Math.abs(Date.parse(date) - Date.now()) < 100_000;
      assert.ok(answers.every(({ headers }) => isNow(headers.date)));
    }));

  it("leaves a question mark that begins a query to the name of the first parameter, as Go does", () =>
    withListener({}, async (port) => {
      const session = openHttp2(port);
      const sent = { path: "/a??b=1&?c=2" };
      for (const { body } of [await sendHttp2(session, sent), await sendHttp1(port, sent)]) {
        const { query } = JSON.parse(body) as { readonly query: string };
        assert.deepEqual([...new URLSearchParams(query).keys()], ["?b", "?c"]);
      }
      session.close();
    }));

  it("sends the octets of headers as they are, over both protocols", () => {
    const octets = Buffer.from("中文").toString("latin1");
    const handler = async (): Promise<HttpResponse> => ({ ...text("body ä"), headers: { warning: octets } });
    return withListener({ handler }, async (port) => {
      const session = openHttp2(port);
      for (const { headers, body } of [await sendHttp2(session, { path: "/" }), await sendHttp1(port, { path: "/" })]) {
        assert.deepEqual([headers["warning"], body], [octets, "body ä"]);
      }
      session.close();
    });
  });

  it("reads bodies up to the limit and answers 413 beyond it, with or without Content-Length", () =>
    withListener({ limits: { bodyBytes: 1000 } }, async (port) => {
      const session = openHttp2(port);
      const post = (length: number): Sent => ({ path: "/body", method: "POST", body: Buffer.alloc(length, 120) });
      const told = { ...post(1001), headers: { "content-length": "1001" } };
      assert.deepEqual((await sendHttp2(session, post(1000))).body, "1000");
      assert.equal((await sendHttp2(session, post(1001))).status, 413);
      assert.equal((await sendHttp2(session, told)).status, 413);
      assert.equal((await sendHttp2(session, post(3))).body, "3");
      session.close();
      assert.deepEqual((await sendHttp1(port, post(1000))).body, "1000");
      assert.equal((await sendHttp1(port, told)).status, 413);
      assert.equal((await sendHttp1(port, { ...post(1001), headers: { "transfer-encoding": "chunked" } })).status, 413);
    }));

  it("reads no more of a body than its handler asks for, over both protocols", () => {
    const handler = async (request: HttpRequest): Promise<HttpResponse> =>
      request.readBody(10).then(
        (body) => text(String(body.length)),
        (error: unknown) => text("", error instanceof ApiError ? error.code : 500),
      );
    return withListener({ handler }, async (port) => {
      const post = (length: number): Sent => ({ path: "/", method: "POST", body: Buffer.alloc(length, 120) });
      const session = openHttp2(port);
      for (const send of [(sent: Sent) => sendHttp2(session, sent), (sent: Sent) => sendHttp1(port, sent)]) {
        assert.equal((await send(post(10))).body, "10");
        assert.equal((await send(post(11))).status, 413);
      }
      session.close();
      const chunks = "1\r\nx\r\n".repeat(10);
      const head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
      assert.match(await sendRaw(port, `${head}${chunks}0\r\n\r\n`), /^HTTP\/1\.1 200 [^]*\r\n10$/);
      assert.match(await sendRaw(port, `${head}${chunks}1\r\nx\r\n`), /^HTTP\/1\.1 413 /);
    });
  });

  it("goes on with a connection after an answer that came before the body, up to four times as long as one may be", () =>
    withListener({ limits: { bodyBytes: 25_000 } }, async (port) => {
      const socket = await openTls(port);
      socket.write("POST /first HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
      const [first] = (await once(socket, "data")) as [Buffer];
      socket.write(`${"a".repeat(100_000)}${get}Connection: close\r\n\r\n`);
      const rest = await socket.toArray();
      assert.deepEqual(statusesOf(String(Buffer.concat([first, ...rest]))), ["200", "200"]);
    }));

  for (const header of ["Content-Length: 100001", "Transfer-Encoding: chunked"]) {
    it(`closes a connection after an answer that came before a body with ${header}`, () =>
      withListener({ limits: { bodyBytes: 25_000 } }, async (port) => {
        const received = await sendRaw(port, `POST /first HTTP/1.1\r\nHost: h\r\n${header}\r\n\r\n`);
        assert.match(received, /^HTTP\/1\.1 200 [^]*^connection: close\r$/im);
      }));
  }

  it("sends the length of the body, and no body, for HEAD; neither for 304", () =>
    withListener({ handler: async ({ path }) => text("four", path === "/304" ? 304 : 200) }, async (port) => {
      const session = openHttp2(port);
      for (const { headers, body } of [
        await sendHttp2(session, { path: "/", method: "HEAD" }),
        await sendHttp1(port, { path: "/", method: "HEAD" }),
      ]) {
        assert.deepEqual([headers["content-length"], body], ["4", ""]);
      }
      for (const { headers, body } of [
        await sendHttp2(session, { path: "/304" }),
        await sendHttp1(port, { path: "/304" }),
      ]) {
        assert.deepEqual([headers["content-length"], headers["transfer-encoding"], body], [undefined, undefined, ""]);
      }
      session.close();
    }));

  it("passes on the client's certificate unverified, or none", () =>
    withListener({}, async (port) => {
      const [known, unknown] = [openHttp2(port, client), openHttp2(port)];
      assert.equal((await sendHttp2(known, { path: "/peer" })).body, "CN=client");
      assert.equal((await sendHttp2(unknown, { path: "/peer" })).body, "");
      known.close();
      unknown.close();
    }));

  it("passes on ten certificates of what a client has sent, in its order", () =>
    withListener({}, async (port) => {
      const session = openHttp2(port, { ...client, cert: client.cert + serving.cert.repeat(20) });
      const { body } = await sendHttp2(session, { path: "/peer" });
      session.close();
      assert.deepEqual(body.split(","), ["CN=client", ...Array.from({ length: 9 }, () => "CN=serving")]);
    }));

  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    it(`never resumes a ${version} session, so no connection goes without its certificate`, () =>
      withListener({}, async (port) => {
        const options = { ...client, minVersion: version, maxVersion: version };
        const ask = "GET /peer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        const first = await openTls(port, options);
        let session: Buffer | undefined = first.getSession();
        first.on("session", (ticket: Buffer) => (session = ticket));
        first.write(ask);
        first.resume();
        await once(first, "close");

        const second = await openTls(port, { ...options, ...(session && { session }) });
        let received = "";
        second.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
        assert.equal(second.isSessionReused(), false);
        second.write(ask); // its end would also end a request that is not answered yet
        await once(second, "close");
        assert.match(received, /CN=client$/);
      }));
  }

  it("serves a new certificate to new connections, with the same protections", () =>
    withListener({}, async (port, listener) => {
      const open = openHttp2(port);
      await sendHttp2(open, { path: "/" });
      listener.setCertificate(renewed);
      const socket = await openTls(port);
      assert.equal(new X509Certificate(socket.getPeerCertificate().raw).subject, "CN=renewed");
      socket.destroy();
      assert.equal((await sendHttp2(open, { path: "/" })).status, 200);
      open.close();
    }));

  const get = "GET /first HTTP/1.1\r\nHost: h\r\n";
  const attacks: readonly (readonly [name: string, bytes: string])[] = [
    [
      "Content-Length with Transfer-Encoding",
      `${get}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /second HTTP/1.1\r\nHost: h\r\n\r\n`,
    ],
    ["two lengths", `${get}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`],
    ["a folded header", `${get}X-A: b\r\n c\r\n\r\n`],
    ["a space before the colon", `${get}X-A : b\r\n\r\n`],
    ["an unknown transfer coding", `${get}Transfer-Encoding: chunked, x\r\n\r\n`],
    ["a transfer coding that is not undone", `${get}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ["a transfer coding without a length", `${get}Transfer-Encoding: identity\r\n\r\n{}`],
    ["two headers of transfer codings", `${get}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a bare line feed", "GET /first HTTP/1.1\nHost: h\n\n"],
    ["no host", "GET /first HTTP/1.1\r\n\r\n"],
    ["no host, with a target in absolute form", "GET https://h/first HTTP/1.1\r\n\r\n"],
    ["a target of another scheme", "GET http://h/first HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["a target with a user's name", "GET https://u:p@h/first HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["a target without an authority", "GET https:///first HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["a target whose authority another reader ends elsewhere", "GET https://h\\@i/first HTTP/1.1\r\nHost: h\r\n\r\n"],
    ["a target that is no path", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"],
    [
      "a transfer coding in HTTP/1.0",
      `POST /first HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get}\r\n`,
    ],
    ["garbage", "\0\x01\x02\r\n\r\n"],
  ];
  for (const [name, bytes] of attacks) {
    it(`answers ${name} with one 400 and closes`, () =>
      withListener({}, async (port) => {
        const received = await sendRaw(port, bytes);
        assert.match(received, /^HTTP\/1\.1 400 /);
        assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1);
      }));
  }

  for (const [method, path] of [
    ["OPTIONS", "*"],
    ["GET", "first"],
    ["GET", "https://h/first"],
  ] as const) {
    it(`answers ${method} ${path} over HTTP/2, whose target is no path, with 400, and serves the connection on`, () =>
      withListener({}, async (port) => {
        const session = openHttp2(port);
        assert.equal((await sendHttp2(session, { method, path })).status, 400);
        assert.equal((await sendHttp2(session, { path: "/" })).status, 200);
        session.close();
      }));
  }

  const echoTarget: Handler = async ({ path, query, headers }) => text(JSON.stringify([headers["host"], path, query]));
  const absolute: readonly (readonly [target: string, path: string, query: string])[] = [
    ["https://signet.example.com:6443/api/v1?limit=1", "/api/v1", "limit=1"],
    ["HTTPS://signet.example.com:6443//%61pi", "//%61pi", ""],
    ["https://signet.example.com:6443", "/", ""],
    ["https://signet.example.com:6443?a=/b", "/", "a=/b"],
  ];
  for (const [target, path, query] of absolute) {
    it(`takes ${target} for ${path} of the host in it, whatever Host says (RFC 9112 section 3.2.2)`, () =>
      withListener({ handler: echoTarget }, async (port) => {
        const received = await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n`);
        assert.deepEqual(JSON.parse(received.slice(received.indexOf("["))), ["signet.example.com:6443", path, query]);
      }));
  }

  it("leaves two Host headers to be refused when the target names a host, too", () =>
    withListener({ handler: echoTarget }, async (port) => {
      const hosts = "Host: h\r\nHost: i\r\nConnection: close\r\n\r\n";
      assert.match(await sendRaw(port, `GET https://j/first HTTP/1.1\r\n${hosts}`), /\[\["h","i"\],"\/first",""\]/);
    }));

  for (const version of ["", " HTTP/0.9", " HTTP/2.0"]) {
    it(`answers a request line that ends with "${version}" with one 505 and closes`, () =>
      withListener({}, async (port) =>
        assert.deepEqual(statusesOf(await sendRaw(port, `GET /first${version}\r\nHost: h\r\n\r\n${get}\r\n`)), ["505"]),
      ));
  }

  const answered: readonly (readonly [name: string, bytes: string])[] = [
    ["malformed bytes", `${get}\r\n\0\x01\x02\r\n\r\n`],
    [
      "a body that is longer than its Content-Length",
      "POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nabcde",
    ],
    ["a request after the last one", `${get}Connection: close\r\n\r\n${get}\r\n`],
    ["what comes with an offer of another protocol", `${get}Connection: upgrade\r\nUpgrade: x\r\n\r\n${get}\r\n`],
  ];
  for (const [name, bytes] of answered) {
    it(`answers the requests before ${name}, and then closes`, () =>
      withListener({}, async (port) => {
        assert.deepEqual(statusesOf(await sendRaw(port, `${get}\r\n${bytes}`)), ["200", "200"]);
      }));
  }

  it("ends an answer that has begun before it closes because of malformed bytes", () =>
    withListener({ handler: async () => text("a".repeat(4_000_000)) }, async (port) => {
      const socket = await openTls(port);
      socket.write(`${get}\r\n`);
      const [first] = (await once(socket, "data")) as [Buffer];
      for (let sent = 0; sent < 20; sent++) socket.write("\0");
      const rest = await socket.toArray();
      assert.ok(Buffer.concat([first, ...rest]).length > 4_000_000);
    }));

  it("ends a body of malformed chunks with a 400 and a closed connection, never with a second answer", () =>
    withListener({}, async (port) => {
      const head = "POST /body HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
      const received = await sendRaw(port, `${head}zz\r\nabc\r\n0\r\n\r\nGET /second HTTP/1.1\r\nHost: h\r\n\r\n`);
      assert.match(received, /^HTTP\/1\.1 400 /);
      assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1);
      assert.doesNotMatch(received, /second| 200 /);
    }));

  it("answers thousands of pipelined requests, in their order", () =>
    withListener({}, async (port) => {
      const count = 3000;
      const socket = connectTls({ port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
      await once(socket, "secureConnect");
      const requests = Array.from({ length: count }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
      socket.write(`${requests.join("")}GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      let answers = "";
      for await (const bytes of socket) answers += String(bytes);
      assert.deepEqual(
        [...answers.matchAll(/"path":"\/(\w+)"/g)].map(([, path]) => path),
        [...Array.from({ length: count }, (_, index) => String(index)), "last"],
      );
    }));

  it("sends 100 Continue before the head of an answer, also behind an earlier one", () =>
    withListener({}, async (port) => {
      const post = (more = ""): string =>
        `POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n${more}\r\nbody`;
      const received = await sendRaw(port, `${post()}${get}\r\n${post()}${post("Connection: close\r\n")}`);
      for (const answer of received.split(/(?=HTTP\/1\.1 200 )/).slice(1)) {
        const [head = "", rest = ""] = answer.split("\r\n\r\n", 2);
        assert.match(head, new RegExp(`content-length: ${rest.replace("HTTP/1.1 100 Continue", "").length}\\b`, "i"));
      }
      assert.deepEqual(statusesOf(received), ["100", "200", "200", "100", "200", "100", "200"]);
    }));

  it("reads on after a request that came while the answer to an earlier one was not read", async () => {
    const second = Promise.withResolvers<void>();
    const handler: Handler = async ({ path }) => {
      if (path === "/second") second.resolve();
      return text(path === "/first" ? "a".repeat(2 ** 24) : path);
    };
    await withListener({ handler }, async (port) => {
      const socket = await openTls(port);
      const ask = (path: string, more = ""): void =>
        void socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`);
      ask("/first");
      await once(socket, "readable");
      ask("/second");
      await second.promise;
      let end = "";
      for await (const bytes of socket) {
        end = `${end}${String(bytes)}`.slice(-1000);
        if (end.endsWith("/second")) ask("/third", "Connection: close\r\n");
      }
      assert.ok(end.endsWith("/third"));
    });
  });

  it("hands on the requests that one read brings in several turns of the event loop", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    const turns: number[] = [];
    const handler: Handler = async () => {
      turns.push(turnsSoFar());
      return { status: 200, headers: {}, body: "" };
    };
    await withListener({ handler }, async (port) => {
      await sendRaw(port, `${`${get}\r\n`.repeat(50)}${get}Connection: close\r\n\r\n`);
    });
    assert.equal(turns.length, 51);
    assert.ok(new Set(turns).size >= 50, `${new Set(turns).size}`);
  });

  it("hands on the requests of many HTTP/1.1 connections in several turns of the event loop, with their bodies", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    const turns: number[] = [];
    const handler: Handler = async (request) => {
      if (request.path === "/first") turns.push(turnsSoFar());
      return text(String((await request.readBody()).length));
    };
    await withListener({ handler }, async (port) => {
      const sockets = await Promise.all(Array.from({ length: 30 }, () => openTls(port)));
      const answers = sockets.map(async (socket) => {
        let received = "";
        for await (const bytes of socket) received += String(bytes);
        return received;
      });
      const half = "a".repeat(100_000);
      const first = `POST /first HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n${half}`;
      const second = `POST /second HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc`;
      for (const socket of sockets) socket.write(first);
      for (const socket of sockets) socket.write(`${half}${second}`);
      for (const received of await Promise.all(answers)) {
        assert.match(received, /^HTTP\/1\.1 200 [^]*\r\n\r\n200000HTTP\/1\.1 200 [^]*\r\n\r\n3$/);
      }
    });
    assert.equal(turns.length, 30);
    // In each turn, one begins at once, and one that has waited.
    assert.ok(new Set(turns).size >= 15, `${new Set(turns).size}`);
  });

  it("reads a body of many small parts over HTTP/1.1 in several turns of the event loop", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    let turns = 0;
    const handler: Handler = async (request) => {
      const before = turnsSoFar();
      const body = await request.readBody();
      turns = turnsSoFar() - before;
      return text(String(body.length));
    };
    await withListener({ handler }, async (port) => {
      const head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
      const received = await sendRaw(port, `${head}${"1\r\na\r\n".repeat(100_000)}0\r\n\r\n`);
      assert.match(received, /^HTTP\/1\.1 200 [^]*\r\n100000$/);
    });
    // TLS has 16 KiB in a record at most. In each turn, one is read at once, and one that has waited.
    assert.ok(turns >= 15, `${turns}`);
  });

  it("notices over HTTP/1.1 that the client of a stream has left behind a long body", async () => {
    const stopped = Promise.withResolvers<void>();
    const handler: Handler = async () => ({
      status: 200,
      headers: {},
      body: { start: () => () => stopped.resolve() },
    });
    await withListener({ handler }, async (port) => {
      const socket = await openTls(port);
      socket.write("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
      await once(socket, "data");
      socket.write("a".repeat(500_000), () => socket.destroy());
      await stopped.promise;
    });
  });

  it("hands on the WebSocket handshakes of many connections in several turns of the event loop", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    const turns: number[] = [];
    const handler: Handler = async () => {
      turns.push(turnsSoFar());
      return text("");
    };
    await withListener({ handler }, async (port) => {
      const sockets = await Promise.all(Array.from({ length: 30 }, () => openTls(port)));
      const offer = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
      for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nHost: h\r\n${offer}\r\n`);
      for (const socket of sockets) assert.match(String(Buffer.concat(await socket.toArray())), /^HTTP\/1\.1 200 /);
    });
    assert.equal(turns.length, 30);
    // In each turn, one begins at once, and one that has waited.
    assert.ok(new Set(turns).size >= 15, `${new Set(turns).size}`);
  });

  it("reads the WebSocket frames of many connections in several turns of the event loop", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    const handler: Handler = async () => ({ status: 200, headers: {}, body: { start: () => () => {} } });
    const turns: number[] = [];
    const allRead = Promise.withResolvers<void>();
    t.mock.method(WebSocket.prototype, "pong", () => {
      if (turns.push(turnsSoFar()) === 30) allRead.resolve();
    });
    await withListener({ handler }, async (port) => {
      const sockets = await Promise.all(Array.from({ length: 30 }, () => openTls(port)));
      const offer = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
      const key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
      for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nHost: h\r\n${offer}${key}\r\n`);
      await Promise.all(sockets.map((socket) => once(socket, "data")));
      const emptyPing = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
      for (const socket of sockets) socket.write(emptyPing);
      await allRead.promise;
      for (const socket of sockets) socket.destroy();
    });
    // In each turn, one is read at once, and one that has waited.
    assert.ok(new Set(turns).size >= 15, `${new Set(turns).size}`);
  });

  it("closes a connection that sends more pipelined requests while too many wait, and serves others", async (t) => {
    const { allInOneTurn } = takeTurnForEachLook(t);
    await withListener({}, async (port) => {
      const others = new WaitingRequests(new Socket());
      const turns = Array.from({ length: 30_000 }, () => others.turn());
      let parsed = 0;
      const count = (): void => void parsed++;
      subscribe("http.server.request.start", count);
      assert.deepEqual(statusesOf(await sendRaw(port, `${get}\r\n`.repeat(100))), []);
      unsubscribe("http.server.request.start", count);
      assert.equal(parsed, 2);
      assert.deepEqual(statusesOf(await sendRaw(port, `${get}Connection: close\r\n\r\n`)), ["200"]);
      assert.ok(!others.hasRoom);
      allInOneTurn();
      await Promise.all(turns);
      assert.deepEqual(statusesOf(await sendRaw(port, `${get}\r\n${get}Connection: close\r\n\r\n`)), ["200", "200"]);
    });
  });

  it("does not hand on a request whose time is over before its turn", async () => {
    const handled: string[] = [];
    const listener = newListener({
      handler: async ({ path, signal }) => {
        handled.push(path);
        if (path === "/second") for (let second = 0; second < 60; second++) listener.sweep();
        else await once(signal, "abort");
        return text("");
      },
    });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const requests = ["/first", "/second", "/third"].map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n`);
    const answers = await sendRaw(port, `${requests.join("\r\n")}Connection: close\r\n\r\n`);
    await listener.close({ graceMilliseconds: 0 });
    assert.deepEqual(
      [...answers.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status),
      ["504", "504", "504"],
    );
    assert.deepEqual(handled, ["/first", "/second"]);
  });

  describe("the requests that one read brings over HTTP/2", () => {
    /** Opens a connection, and sends all frames in one write. */
    const sendFrames = async (port: number, frames: readonly RawFrame[]): Promise<TLSSocket> => {
      const socket = await openTls(port, { ALPNProtocols: ["h2"] });
      socket.write(Buffer.concat([clientPreface, ...[settings(), ...frames].map(encodeFrame)]));
      return socket;
    };

    it("are handed on in several turns of the event loop, and then the next ones of their connection", async (t) => {
      takeTurnForEachLook(t);
      const turnsSoFar = turnsOfTest(t);
      const turns: number[] = [];
      const { promise: allHandled, resolve } = Promise.withResolvers<void>();
      const handler: Handler = async () => {
        turns.push(turnsSoFar());
        if (turns.length === 52) resolve();
        return text("");
      };
      await withListener({ handler }, async (port) => {
        const socket = await sendFrames(
          port,
          Array.from({ length: 51 }, (_, index) => getFrame(index * 2 + 1)),
        );
        socket.write(encodeFrame(getFrame(103)));
        await allHandled;
        socket.destroy();
      });
      // The first one begins at once, and so may the last.
      assert.ok(new Set(turns).size >= 50, `${new Set(turns).size}`);
    });

    it("are not handed on when their client has reset them before their turns", async (t) => {
      takeTurnForEachLook(t);
      const handled: string[] = [];
      const { promise: lastHandled, resolve } = Promise.withResolvers<void>();
      const handler: Handler = async ({ path }) => {
        handled.push(path);
        if (path === "/last") resolve();
        return text("");
      };
      await withListener({ handler }, async (port) => {
        const given = Array.from({ length: 50 }, (_, index) => index * 2 + 3);
        const frames = given.flatMap((streamId) => [getFrame(streamId, "/reset"), reset(streamId)]);
        const socket = await sendFrames(port, [getFrame(1, "/first"), ...frames, getFrame(103, "/last")]);
        await lastHandled;
        socket.destroy();
      });
      assert.deepEqual(handled, ["/first", "/last"]);
    });

    it("are refused as not taken while too many wait", async (t) => {
      const { allInOneTurn } = takeTurnForEachLook(t);
      await withListener({}, async (port) => {
        const others = new WaitingRequests(new Socket());
        const turns = Array.from({ length: 19_600 }, () => others.turn());
        const refill = (): void => {
          turns.push(others.turn());
          refilling = setImmediate(refill); // one has its turn meanwhile
        };
        let refilling = setImmediate(refill);
        const socket = await sendFrames(port, [getFrame(1), getFrame(3)]);
        let received = Buffer.alloc(0);
        const refusal = resetFrame(3, errorCodes.refusedStream);
        for await (const bytes of socket) {
          received = Buffer.concat([received, bytes as Buffer]);
          if (received.includes(refusal)) break;
        }
        clearImmediate(refilling);
        assert.ok(received.includes(refusal));
        allInOneTurn();
        await Promise.all(turns);
        const session = openHttp2(port);
        const answers = await Promise.all(["/a", "/b"].map((path) => sendHttp2(session, { path })));
        session.close();
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200],
        );
      });
    });
  });

  it("answers a method that the parser does not know with 405", () =>
    withListener({}, async (port) => {
      assert.match(await sendRaw(port, "FOO / HTTP/1.1\r\nHost: h\r\n\r\n"), /^HTTP\/1\.1 405 [^]*MethodNotAllowed/);
    }));

  it("bounds the bytes and the number of headers", () =>
    withListener({ limits: { headerBytes: 4096, headerCount: 20 } }, async (port) => {
      const many = Array.from({ length: 30 }, (_, at) => `X-${at}: a\r\n`).join("");
      assert.match(await sendRaw(port, `${get}${many}Connection: close\r\n\r\n`), /^HTTP\/1\.1 431 /);
      assert.match(await sendRaw(port, `${get}X-Long: ${"a".repeat(8192)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
      const session = openHttp2(port);
      const headers = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`x-${at}`, "a"]));
      assert.equal((await sendHttp2(session, { path: "/", headers })).status, 431);
      assert.equal((await sendHttp2(session, { path: "/", headers: { "x-long": "a".repeat(8192) } })).status, 431);
      session.destroy();
    }));

  it("answers a head that goes on far beyond the bound", () =>
    withListener({}, async (port) => {
      const head = `GET /?${"a&".repeat(1_000_000)} HTTP/1.1\r\nHost: h\r\n\r\n`;
      assert.match(await sendRaw(port, head), /^HTTP\/1\.1 431 /);
    }));

  it("answers CONNECT with 400 behind what was asked before, and closes", () =>
    withListener({}, async (port) => {
      const tunnel = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\nanything";
      const received = await sendRaw(port, `GET /first HTTP/1.1\r\nHost: h\r\n\r\n${tunnel}`);
      assert.deepEqual(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 400"]);
    }));

  it("sends all of a long answer before CONNECT, and to a WebSocket handshake that gets no stream", () => {
    const length = 4_000_000;
    return withListener({ handler: async () => text("a".repeat(length)) }, async (port) => {
      const tunnel = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n";
      const handshake = `${["Host: h", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="].join("\r\n")}\r\n\r\n`;
      for (const end of [`Host: h\r\n\r\n${tunnel}`, handshake]) {
        const received = await sendRaw(port, `GET / HTTP/1.1\r\n${end}`);
        assert.ok(received.length > length, `${received.length} characters`);
      }
    });
  });

  it("bounds the streams of a connection", () =>
    withListener({ limits: { concurrentStreams: 3 } }, async (port) => {
      const session = openHttp2(port);
      await sendHttp2(session, { path: "/" });
      assert.equal(session.remoteSettings.maxConcurrentStreams, 3);
      session.destroy();
    }));

  it("ends a connection that opens and resets streams without end (CVE-2023-44487)", () =>
    withListener({ limits: { emptyFrameBurst: 50, emptyFramesPerSecond: 1 } }, async (port) => {
      const session = openHttp2(port);
      await sendHttp2(session, { path: "/" });
      const ended = once(session, "goaway");
      for (let at = 0; at < 200; at++) {
        const stream = session.request({ ":path": "/hang" });
        stream.on("error", () => undefined);
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await ended;
      session.destroy();
    }));

  it("notifies the handler when the client has disconnected", async () => {
    const gone = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const handler: Handler = async (request) => {
      request.signal.addEventListener("abort", () => gone.resolve());
      arrived.resolve();
      await gone.promise;
      return text("late");
    };
    await withListener({ handler }, async (port) => {
      const session = openHttp2(port);
      session.request({ ":path": "/" }).on("error", () => undefined);
      await arrived.promise;
      session.destroy();
      await gone.promise;
    });
  });

  const tunnel = "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const [what, { ahead, leave }] of [
    ["has disconnected", { ahead: tunnel, leave: (socket: TLSSocket) => socket.destroy() }],
    [
      "sends more and closes its side",
      { ahead: "", leave: (socket: TLSSocket) => (socket.write(tunnel), socket.end("more")) },
    ],
  ] as const) {
    it(`notifies the handlers of all requests before a CONNECT when the client ${what}`, async () => {
      const arrived = Promise.withResolvers<void>();
      const gone = Promise.withResolvers<void>();
      const left = new Set(["/1", "/2", "/3"]);
      const handler: Handler = async ({ path, signal }) => {
        signal.addEventListener("abort", () => {
          left.delete(path);
          if (left.size === 0) gone.resolve();
        });
        if (path === "/3") arrived.resolve();
        await gone.promise;
        return text("late");
      };
      await withListener({ handler }, async (port) => {
        const socket = await openTls(port);
        socket.write([...left].map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`).join("") + ahead);
        await arrived.promise;
        leave(socket);
        await gone.promise;
      });
    });
  }

  it("makes one error for all requests whose clients have disconnected", async () => {
    const reasons: unknown[] = [];
    const arrived = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    let requests = 0;
    const handler: Handler = async ({ signal }) => {
      signal.addEventListener("abort", () => {
        reasons.push(signal.reason);
        if (reasons.length === 2) gone.resolve();
      });
      requests += 1;
      if (requests === 2) arrived.resolve();
      await gone.promise;
      return text("late");
    };
    await withListener({ handler }, async (port) => {
      const session = openHttp2(port);
      for (const path of ["/one", "/two"]) session.request({ ":path": path }).on("error", () => undefined);
      await arrived.promise;
      session.destroy();
      await gone.promise;
    });
    assert.equal((reasons[0] as Error).name, "AbortError");
    assert.equal(reasons[0], reasons[1]);
  });

  describe("a handler whose client has left", () => {
    for (const protocol of protocols) {
      for (const [what, sent] of [
        ["half of the body", "12345"],
        ["the whole body", "1234567890"],
      ] as const) {
        it(`cannot read the body over ${protocol} after ${what}`, async () => {
          const arrived = Promise.withResolvers<void>();
          const read = Promise.withResolvers<string>();
          const handler: Handler = async (request) => {
            arrived.resolve();
            await once(request.signal, "abort");
            await turn();
            read.resolve(await request.readBody().then(String, (error: Error) => error.message));
            return text("late");
          };
          await withListener({ handler }, async (port) => {
            const leave = sendThenLeave(port, { protocol, path: "/", contentLength: 10, sent });
            await arrived.promise;
            leave();
            assert.equal(await read.promise, "the request's body broke off");
          });
        });
      }

      it(`has its stream stopped over ${protocol}, though it had not begun`, async () => {
        const arrived = Promise.withResolvers<void>();
        const ended = Promise.withResolvers<void>();
        const handler: Handler = async (request) => {
          arrived.resolve();
          await once(request.signal, "abort");
          return { status: 200, headers: {}, body: { start: () => () => ended.resolve() } };
        };
        await withListener({ handler }, async (port) => {
          const leave = sendThenLeave(port, { protocol, path: "/" });
          await arrived.promise;
          leave();
          await ended.promise;
        });
      });
    }
  });

  it("answers 504 once the deadline has passed, and aborts the work", () =>
    withListener({ limits: { requestSeconds: 2 } }, async (port, listener) => {
      const session = openHttp2(port);
      await sendHttp2(session, { path: "/" });
      const answering = sendHttp2(session, { path: "/hang" });
      await sendHttp2(session, { path: "/" });
      listener.sweep();
      listener.sweep();
      const { status, body } = await answering;
      assert.equal(status, 504);
      assert.equal((JSON.parse(body) as { reason: string }).reason, "Timeout");
      session.close();
    }));

  it("has the work aborted also of a handler that asks only after the deadline", async () => {
    const arrived = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const wasAborted = Promise.withResolvers<boolean>();
    const handler: Handler = async (request) => {
      arrived.resolve();
      await late.promise;
      wasAborted.resolve(request.signal.aborted);
      return text("late");
    };
    await withListener({ handler, limits: { requestSeconds: 1 } }, async (port, listener) => {
      const session = openHttp2(port);
      const answering = sendHttp2(session, { path: "/" });
      await arrived.promise;
      listener.sweep();
      late.resolve();
      // In this turn of the event loop, the answer has not left yet.
      assert.equal(await wasAborted.promise, true);
      assert.equal((await answering).status, 504);
      session.close();
    });
  });

  it("sweeps every second", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    await withListener({ limits: { requestSeconds: 2 }, isSweptByTime: true }, async (port) => {
      const session = openHttp2(port);
      const answering = sendHttp2(session, { path: "/hang" });
      await sendHttp2(session, { path: "/" });
      for (let second = 0; second < 2; second++) {
        t.mock.timers.tick(1000);
        await turn();
      }
      assert.equal((await answering).status, 504);
      session.close();
    });
  });

  for (const protocol of protocols) {
    for (const [when, isExpired] of [
      ["before", false],
      ["after", true],
    ] as const) {
      it(`stops waiting for a body over ${protocol} at the deadline, when the handler began to read ${when} it`, async () => {
        const arrived = Promise.withResolvers<void>();
        const read = Promise.withResolvers<unknown>();
        const handler: Handler = async (request) => {
          arrived.resolve();
          if (isExpired) await once(request.signal, "abort");
          read.resolve(await request.readBody().catch((error: unknown) => error));
          return text("late");
        };
        await withListener({ handler, limits: { requestSeconds: 1 } }, async (port, listener) => {
          const leave = sendThenLeave(port, { protocol, path: "/", contentLength: 10, sent: "12345" });
          await arrived.promise;
          listener.sweep();
          const failure = await read.promise;
          assert(failure instanceof ApiError);
          assert.equal(failure.code, 504);
          leave();
        });
      });
    }
  }

  it("closes a connection that is idle for too long, but not one with a watch", async () => {
    const sinks: ByteSink[] = [];
    const watch: Handler = async ({ path }) =>
      path === "/watch"
        ? { status: 200, headers: {}, body: { start: (sink) => (sinks.push(sink), () => undefined) } }
        : text("ok");
    await withListener({ handler: watch, limits: { idleSeconds: 2, requestSeconds: 2 } }, async (port, listener) => {
      const [idle, busy] = [openHttp2(port), openHttp2(port)];
      await sendHttp2(idle, { path: "/" });
      const stream = busy.request({ ":path": "/watch" });
      await once(stream, "response");
      assert.equal(listener.openStreams(), 1);
      const closed = once(idle, "close");
      for (let second = 0; second < 3; second++) listener.sweep();
      await closed;
      sinks[0]?.write(Buffer.from("event"));
      assert.equal(String((await once(stream, "data"))[0]), "event");
      busy.destroy();
    });
  });

  it("serves a client that changes the keys of its connection", async () => {
    await withListener({}, async (port) => {
      const { changes, received } = await changeKeys(port, 20);
      assert.deepEqual([changes, statusesOf(received)], [20, ["200"]]);
    });
  });

  it("ends the connection of a client that changes its keys without end, and serves others", async () => {
    await withListener({}, async (port) => {
      const { changes, received } = await changeKeys(port, 1000);
      assert.ok(changes >= 20 && changes < 1000, `${changes} changes`);
      assert.deepEqual(statusesOf(received), []);
      assert.equal((await sendHttp1(port, { path: "/" })).status, 200);
    });
  });

  describe("with too many connections", () => {
    const open = async (port: number, path: string): Promise<ClientHttp2Stream> => {
      const stream = openHttp2(port).request({ ":path": path });
      stream.on("error", () => {}); // its connection is closed
      await once(stream, "response");
      return stream;
    };
    /** Answers with streams, to the users that paths name. */
    const withUsers = (
      limits: Partial<ConnectionLimits>,
      use: (port: number, sendToAll: () => void) => Promise<void>,
    ) => {
      const sinks: ByteSink[] = [];
      const handler: Handler = async ({ path, connection }) => {
        const username = path.slice(1);
        if (username !== "anonymous") connection.isUsedBy?.({ username, groups: [], extra: {} });
        return { status: 200, headers: {}, body: { start: (sink) => (sinks.push(sink), () => undefined) } };
      };
      return withListener({ handler, limits }, (port) =>
        use(port, () => {
          for (const sink of sinks) sink.write(Buffer.from("event"));
        }),
      );
    };

    it("closes the oldest connection whose client waits for nothing, else one of a client without a name", () =>
      withUsers({ connections: 4 }, async (port, sendToAll) => {
        const streams = [await open(port, "/ann")];
        const nameless = await open(port, "/anonymous");
        const silent = connectTcp({ host: "127.0.0.1", port });
        await once(silent, "connect");
        const idle = await openTls(port);
        for (const [closing, user] of [
          [silent.resume(), "bob"],
          [idle.resume(), "eve"],
          [nameless, "joe"],
        ] as const) {
          const [, stream] = await Promise.all([once(closing, "close"), open(port, `/${user}`)]);
          streams.push(stream);
        }
        await assert.rejects(openTlsOrFail(port), "all have a name and wait for something");
        sendToAll();
        for (const stream of streams) assert.equal(String((await once(stream, "data"))[0]), "event");
        for (const { session } of streams) session?.destroy();
      }));

    const eveHasEight = (limits: Partial<ConnectionLimits>) =>
      withUsers(limits, async (port, sendToAll) => {
        const ofEve: ClientHttp2Stream[] = [];
        while (ofEve.length < 8) ofEve.push(await open(port, "/eve"));
        const [, ofAnn] = await Promise.all([once(ofEve[6] ?? assert.fail(), "close"), open(port, "/ann")]);
        sendToAll();
        const streams = [...ofEve.slice(0, 6), ofAnn];
        for (const stream of streams) assert.equal(String((await once(stream, "data"))[0]), "event");
        for (const { session } of [...ofEve, ofAnn]) session?.destroy();
      });

    it("closes those that one user has beyond three quarters, and lets others in", () =>
      eveHasEight({ connections: 8 }));

    it("closes those that one user has beyond three quarters of an address's, and lets others in", () =>
      eveHasEight({ connectionsPerAddress: 8 }));

    it("closes no handshake under way sooner than an older connection of a client without a name", (t) =>
      withUsers({ connections: 2 }, async (port) => {
        const nameless = await open(port, "/anonymous");
        const admit = t.mock.method(ConnectionRoom.prototype, "admit");
        const client = connectTcp({ host: "127.0.0.1", port });
        client.write(Buffer.of(22)); // the first byte of a handshake (RFC 8446 section 5.1)
        await once(client, "connect");
        while (admit.mock.callCount() === 0) await turn();
        const ofServer = admit.mock.calls[0]?.arguments[0] ?? assert.fail();
        while (ofServer.bytesRead === 0) await turn();
        const closing = Promise.race([once(nameless, "close"), once(ofServer, "close")]);
        const [, stream] = await Promise.all([closing, open(port, "/ann")]);
        assert.equal(ofServer.destroyed, false);
        client.destroy();
        stream.session?.destroy();
      }));
  });

  it("closes an idle HTTP/2 connection also when the client does not close its side", async (t) => {
    const admit = t.mock.method(ConnectionRoom.prototype, "admit");
    await withListener({ limits: { idleSeconds: 2 } }, async (port, listener) => {
      const socket = connectTcp({ host: "127.0.0.1", port, allowHalfOpen: true });
      const stubborn = await openTls(port, { socket, ALPNProtocols: ["h2"] });
      stubborn.allowHalfOpen = true;
      stubborn.write(Buffer.concat([clientPreface, encodeFrame(settings())]));
      await once(stubborn, "data"); // the server's settings
      const ended = once(stubborn.resume(), "end");
      for (let second = 0; second < 2; second++) listener.sweep();
      await ended;
      const ofServer = admit.mock.calls[0]?.arguments[0] ?? assert.fail();
      for (let second = 2; second < 6; second++) listener.sweep();
      await turn();
      assert.equal(ofServer.destroyed, false);
      listener.sweep();
      if (!ofServer.destroyed) await once(ofServer, "close");
      stubborn.destroy();
    });
  });

  it("closes a connection that it has refused, also when the client does not close its side", async (t) => {
    const admit = t.mock.method(ConnectionRoom.prototype, "admit");
    await withListener({}, async (port, listener) => {
      const socket = connectTcp({ host: "127.0.0.1", port, allowHalfOpen: true });
      const stubborn = await openTls(port, { socket });
      stubborn.allowHalfOpen = true;
      const ended = once(stubborn.resume(), "end");
      stubborn.write("no request\r\n\r\n");
      await ended;
      const ofServer = admit.mock.calls[0]?.arguments[0] ?? assert.fail();
      for (let second = 0; second < 3; second++) listener.sweep();
      await turn();
      assert.equal(ofServer.destroyed, false);
      for (let second = 3; second < 5; second++) listener.sweep();
      if (!ofServer.destroyed) await once(ofServer, "close");
      stubborn.destroy();
    });
  });

  it("finishes the handshakes of clients that connect together, and reads their requests as they come", async (t) => {
    const ended = t.mock.method(HandshakeTurns.prototype, "hasEnded");
    await withListener({}, async (port) => {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => openTls(port)));
      for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      for (const socket of sockets) assert.match(String(await once(socket, "data")), /^HTTP\/1\.1 200 /);
      for (const socket of sockets) socket.destroy();
    });
    assert.equal(ended.mock.callCount(), 50);
  });

  it("tells a client that speaks HTTP without TLS so, and closes its connection", () =>
    withListener({ limits: { connections: 1 } }, async (port) => {
      const socket = connectTcp({ host: "127.0.0.1", port, allowHalfOpen: true });
      socket.write("GET /api HTTP/1.1\r\nhost: localhost\r\n\r\n");
      const answer = Buffer.concat(await socket.toArray()).toString();
      assert.equal(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
      await openTlsOrFail(port);
      socket.destroy();
    }));

  it("gives the client as much time to read a watch that has ended as any other answer", async () => {
    const start = (sink: ByteSink) => {
      sink.write(Buffer.from("this does not fit"));
      sink.end();
      return () => {};
    };
    const handler: Handler = async () => ({ status: 200, headers: {}, body: { start } });
    await withListener({ handler, limits: { requestSeconds: 2 } }, async (port, listener) => {
      const session = connectHttp2(`https://127.0.0.1:${port}`, {
        rejectUnauthorized: false,
        settings: { initialWindowSize: 4 },
      });
      const stream = session.request({ ":path": "/watch" }).on("error", () => undefined);
      stream.pause();
      await once(stream, "response");
      const closed = once(stream, "close");
      for (let second = 0; second < 3; second++) listener.sweep();
      await closed;
      assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
      session.destroy();
    });
  });

  it("shows a stream how many bytes wait, and stops it when the client leaves", async () => {
    const chunk = Buffer.alloc(64 * 1024);
    for (const protocol of ["h2", "http/1.1"]) {
      const stopped = Promise.withResolvers<number>();
      const start = (sink: ByteSink) => {
        for (let at = 0; at < 64; at++) sink.write(chunk);
        const waiting = sink.bufferedBytes();
        return () => stopped.resolve(waiting);
      };
      await withListener({ handler: async () => ({ status: 200, headers: {}, body: { start } }) }, async (port) => {
        const session = protocol === "h2" ? openHttp2(port) : undefined;
        const socket = session ? undefined : await openTls(port);
        socket?.pause().write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        if (session)
          await once(
            session.request({ ":path": "/" }).on("error", () => undefined),
            "response",
          );
        else if (socket) await once(socket, "readable");
        session?.destroy();
        socket?.destroy();
        assert.ok((await stopped.promise) > 1024 * 1024, protocol);
      });
    }
  });

  it("serves other requests of a connection while a large answer is on its way", async () => {
    const large = 40_000_000;
    const handler: Handler = async ({ path }) => text("x".repeat(path === "/large" ? large : 1));
    await withListener({ handler }, async (port) => {
      const session = openHttp2(port);
      const stream = session.request({ ":path": "/large" });
      await once(stream, "response");
      assert.equal((await sendHttp2(session, { path: "/small" })).body, "x");
      let received = 0;
      for await (const chunk of stream) received += (chunk as Buffer).length;
      assert.equal(received, large);
      session.destroy();
    });
  });

  it("ends answers that clients do not read before they fill the memory, the oldest first", async () => {
    // Each answer also takes 4 KiB, so three fit.
    for (const [bytes, headBytes] of [
      [1_000_000, 0],
      [4000, 0],
      [10, 0],
      [10, 8000],
    ] as const) {
      const handler = async (): Promise<HttpResponse> => ({
        ...text("x".repeat(bytes)),
        headers: { "audit-id": "a".repeat(headBytes) },
      });
      const answers = { handler, limits: { unsentBytes: (bytes + headBytes + 4096) * 3.5 } };
      await withListener(answers, async (port) => {
        const silent = openHttp2(port, { settings: { initialWindowSize: 1 } });
        const request = (path: string): ClientHttp2Stream => silent.request({ ":path": path }).on("error", () => {});
        const first = request("/first");
        await once(first, "response");
        const firstEnd = once(first, "close");
        const others = ["/second", "/third", "/fourth"].map(request);
        await Promise.all(others.map((one) => once(one, "response")));
        await firstEnd;
        assert.equal(first.rstCode, constants.NGHTTP2_CANCEL);
        assert.deepEqual(
          others.map(({ closed }) => closed),
          [false, false, false],
        );
        assert.equal((await sendHttp1(port, { path: "/" })).body.length, bytes);
        silent.destroy();
      });
    }
  });

  it("keeps nothing of a request whose answer the client does not read", async () => {
    const requests: WeakRef<object>[] = [];
    const handler: Handler = async ({ headers }) => {
      requests.push(new WeakRef(headers));
      return text("an answer");
    };
    await withListener({ handler }, async (port) => {
      const silent = openHttp2(port, { settings: { initialWindowSize: 1 } });
      for (let count = 0; count < 20; count++) {
        await once(silent.request({ ":path": "/", "x-long": "a".repeat(10_000) }), "response");
      }
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void; // what --expose-gc defines
      collect();
      assert.deepEqual(
        requests.map((request) => request.deref()),
        requests.map(() => undefined),
      );
      silent.destroy();
    });
  });

  it("ends streams that clients do not read before they fill the memory, those unread for the longest time first", async () => {
    const bytes = Buffer.alloc(1_000_000);
    const start = (sink: ByteSink) => {
      sink.write(bytes);
      return () => undefined;
    };
    const streams = { handler: async () => ({ status: 200, headers: {}, body: { start } }) };
    await withListener({ ...streams, limits: { unsentBytes: 1_500_000 } }, async (port, listener) => {
      const silent = openHttp2(port, { settings: { initialWindowSize: 1 } });
      const open = async (session: ClientHttp2Session): Promise<ClientHttp2Stream> => {
        const stream = session.request({ ":path": "/" }).on("error", () => {});
        await once(stream, "response");
        return stream;
      };
      const reading = openHttp2(port);
      const read = await open(reading);
      let readBytes = 0;
      for await (const chunk of read.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        readBytes += chunk.length;
        if (readBytes === bytes.length) break;
      }
      const first = await open(silent);
      listener.sweep();
      const second = await open(silent);
      const firstEnd = once(first, "close");
      listener.sweep();
      listener.sweep();
      await firstEnd;
      assert.equal(first.rstCode, constants.NGHTTP2_CANCEL);
      listener.sweep();
      const third = await open(silent);
      assert.deepEqual([second.closed, third.closed, read.closed], [false, false, false]);
      for (const session of [silent, reading]) session.destroy();
    });
  });

  it("shuts down by draining requests and ending watches", async () => {
    const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handler: Handler = async ({ path }: HttpRequest) => {
      if (path === "/watch") return { status: 200, headers: {}, body: { start: () => () => undefined } };
      entered.resolve();
      await release.promise;
      return text("drained");
    };
    const listener = newListener({ handler });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const session = openHttp2(port);
    const watch = session.request({ ":path": "/watch" });
    await once(watch, "response");
    watch.resume();
    const ended = once(watch, "end");
    const answering = sendHttp2(session, { path: "/slow" });
    await entered.promise;
    const closing = listener.close({ graceMilliseconds: 10_000 });
    await ended;
    release.resolve();
    assert.equal((await answering).body, "drained");
    await closing;
    await assert.rejects(openTlsOrFail(port));
  });

  it("cuts connections that are still open after the grace period", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const session = openHttp2(port);
    const stream = session.request({ ":path": "/hang" }).on("error", () => undefined);
    const closed = once(stream, "close");
    await once(session, "remoteSettings");
    await listener.close({ graceMilliseconds: 1 });
    await closed;
  });

  it("ends connections on which no request runs long before the grace period is over", async () => {
    const time = new ManualTime();
    const listener = newListener({ limits: { handshakeSeconds: 1000 }, schedule: time.schedule });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const silent = connectTcp(port, "127.0.0.1");
    const halfHandshake = connectTcp(port, "127.0.0.1").on("connect", () => halfHandshake.write("\x16\x03\x01"));
    const halfHeader = await openTls(port);
    halfHeader.write("GET / HTTP/1.1\r\nHost: h\r\n");
    // It reads nothing, so it does not see that the server ends its side.
    const stuck = await openTls(port, { ALPNProtocols: ["h2"] });
    stuck.write(clientPreface);
    await once(stuck, "readable");
    await sendHttp1(port, { path: "/" }); // connections are accepted in their order
    const sockets = [silent, halfHandshake, halfHeader, stuck];
    const ended = sockets.map((socket) => once(socket.on("error", () => undefined).resume(), "close"));
    stuck.pause();
    // A client that was active in the last seconds may still read an answer.
    for (let second = 0; second < 5; second++) listener.sweep();
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    await turn();
    for (let second = 0; second < 2; second++) {
      time.pass(1000);
      await turn();
    }
    stuck.resume();
    await closing;
    await Promise.all(ended);
  });

  it("gives clients of HTTP/2 five seconds to read what they were answered last, and then ends those that do not close", async () => {
    const long = "x".repeat(1_000_000);
    const time = new ManualTime();
    const handler: Handler = async ({ path }) => text(path === "/long" ? long : "");
    const listener = newListener({ handler, schedule: time.schedule });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const openUnread = async (path: string): Promise<TLSSocket> => {
      const socket = await openTls(port, { ALPNProtocols: ["h2"] });
      const frames = [
        settings([settingIds.initialWindowSize, long.length]),
        windowUpdate(0, long.length),
        getFrame(1, path),
      ];
      socket.write(Buffer.concat([clientPreface, ...frames.map(encodeFrame)]));
      return socket;
    };
    const [slow, stuck] = [await openUnread("/long"), await openUnread("/")];
    await sendHttp1(port, { path: "/" }); // after theirs
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    await turn();
    const passSeconds = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        listener.sweep();
        time.pass(1000);
        await turn();
      }
    };
    await passSeconds(4);
    slow.write(encodeFrame(windowUpdate(0, long.length)));
    assert.ok(Buffer.concat(await slow.toArray()).length > long.length);
    await passSeconds(3);
    await closing;
    stuck.destroy();
  });

  const keepAliveGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

  it("answers a request on a kept-alive connection while it closes, and ends the connection with the answer", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const socket = await openTls(port);
    socket.setEncoding("utf8").write(keepAliveGet);
    assert.match(String(await once(socket, "data")), /Connection: keep-alive/i);
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    socket.write(keepAliveGet);
    const [answer] = (await once(socket, "data")) as [string];
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /^connection: close\r$/im);
    await Promise.all([closing, once(socket, "close")]);
  });

  it("answers a request that it could not read before idle connections end: it had no turn", async () => {
    const time = new ManualTime();
    const listener = newListener({ schedule: time.schedule });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const socket = await openTls(port);
    socket.write(keepAliveGet);
    await once(socket, "data");
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    await turn();
    socket.write(keepAliveGet);
    time.pass(1000);
    assert.deepEqual(statusesOf(String(Buffer.concat(await socket.toArray()))), ["200"]);
    await closing;
  });

  it("ends the connection with the answer to a request that it had taken before it closes", async () => {
    for (const path of ["/", "/watch"]) {
      const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const handler: Handler = async () => {
        entered.resolve();
        await release.promise;
        return path === "/watch" ? { status: 200, headers: {}, body: { start: () => () => undefined } } : text("taken");
      };
      const listener = newListener({ handler });
      const port = await listener.listen({ host: "127.0.0.1", port: 0 });
      const answering = sendHttp1(port, { path, headers: { connection: "keep-alive" } });
      await entered.promise;
      const closing = listener.close({ graceMilliseconds: 1_000_000 });
      release.resolve();
      assert.equal((await answering).headers.connection, "close");
      await closing;
    }
  });

  it("closes idle HTTP/1.1 connections once no request can be on its way", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const socket = await openTls(port);
    socket.write(keepAliveGet);
    await once(socket, "data");
    await Promise.all([listener.close({ graceMilliseconds: 1 }), once(socket, "close")]);
  });

  it("closes an idle HTTP/1.1 connection whose handshake ended after others were closed", async () => {
    const time = new ManualTime();
    const listener = newListener({ schedule: time.schedule });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const late = connectTcp(port, "127.0.0.1");
    await once(late, "connect");
    await sendHttp1(port, { path: "/" }); // connections are accepted in their order
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    await turn();
    time.pass(999);
    // With TLS 1.2 the server ends the handshake first.
    const socket = connectTls({ socket: late, rejectUnauthorized: false, maxVersion: "TLSv1.2" });
    await once(socket, "secureConnect");
    time.pass(999);
    await turn();
    assert.equal(socket.readableEnded, false);
    time.pass(1);
    await Promise.all([closing, once(socket, "close")]);
  });

  it("refuses the requests of an HTTP/2 connection that finishes its handshake while the listener closes", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const late = connectTcp(port, "127.0.0.1");
    await once(late, "connect");
    await sendHttp1(port, { path: "/" }); // connections are accepted in their order
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    const socket = connectTls({ socket: late, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    const session = connectHttp2("https://127.0.0.1", { createConnection: () => socket });
    const stream = session.request({ ":path": "/" });
    await assert.rejects(once(stream, "response"));
    assert.equal(stream.rstCode, constants.NGHTTP2_REFUSED_STREAM);
    await closing;
  });

  it("answers the request of an HTTP/1.1 connection that finishes its handshake while the listener closes", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const late = connectTcp(port, "127.0.0.1");
    await once(late, "connect");
    await sendHttp1(port, { path: "/" });
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    const socket = connectTls({ socket: late, rejectUnauthorized: false });
    socket.write(keepAliveGet);
    assert.match(String(await once(socket, "data")), /^HTTP\/1\.1 200 /);
    await closing;
  });
});

async function openTlsOrFail(port: number): Promise<void> {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await Promise.race([
    once(socket, "secureConnect"),
    once(socket, "error").then(([error]) => Promise.reject(error as Error)),
  ]);
  socket.destroy();
}
