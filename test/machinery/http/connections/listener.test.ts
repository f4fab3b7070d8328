import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { ByteSink, Handler, HttpRequest, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import {
  client,
  openHttp2,
  openTls,
  renewed,
  sendHttp1,
  sendHttp2,
  sendRaw,
  serving,
  statusesOf,
  text,
  withListener,
} from "./listener-scene.ts";
import type { Sent } from "./listener-scene.ts";

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

  it("answers 413 before any of a body comes that is declared to be too long, over both protocols", () =>
    withListener({ limits: { bodyBytes: 1000 } }, async (port) => {
      const headers = { "content-length": "1001" };
      const session = openHttp2(port);
      const stream = session.request({ ":path": "/body", ":method": "POST", ...headers }, { endStream: false });
      const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
      assert.equal(head[":status"], 413);
      session.destroy();
      const socket = await openTls(port);
      socket.write("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.deepEqual(statusesOf(answer.toString()), ["413"]);
      socket.destroy();
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

  it("continues with a connection after an answer that came before the body, up to four times as long as one may be", () =>
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

  it("ends a watch behind which malformed bytes come", async () => {
    const start = (sink: ByteSink) => (sink.write(Buffer.from("event")), () => undefined);
    await withListener({ handler: async () => ({ status: 200, headers: {}, body: { start } }) }, async (port) => {
      const socket = await openTls(port);
      socket.write(`${get}\r\n`);
      await once(socket, "data");
      socket.write("\0\x01\x02\r\n\r\n");
      await once(socket, "close");
    });
  });

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

  it("answers a head that continues far beyond the bound", () =>
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
});
