import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, describe, it } from "node:test";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import type { ClientOptions } from "ws";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({ settings: { controllers: false } });
});

const configMaps = "/api/v1/namespaces/default/configmaps";
const watchOf = (name: string): string => `${configMaps}?watch=true&fieldSelector=metadata.name%3D${name}`;
const tokenProtocol = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;

interface Handshake extends ClientOptions {
  readonly protocols?: readonly string[];
}

const asAdministrator = (): Record<string, string> => ({ authorization: `Bearer ${server.adminToken}` });

const open = (target: string, { protocols = [], headers = asAdministrator(), ...options }: Handshake = {}): WebSocket =>
  new WebSocket(`wss://127.0.0.1:${server.port}${target}`, [...protocols], {
    rejectUnauthorized: false,
    headers,
    ...options,
  });

/** The answer to a handshake that the server refuses. */
async function refusalOf(target: string, handshake: Handshake = {}): Promise<{ code: number; message: string }> {
  const socket = open(target, handshake);
  socket.once("open", () => {
    socket.emit("error", new Error("the handshake was accepted"));
    socket.terminate();
  });
  const answered = (await once(socket, "unexpected-response")) as [unknown, AsyncIterable<Buffer>];
  let text = "";
  for await (const chunk of answered[1]) text += String(chunk);
  const status = JSON.parse(text) as { kind: string; code: number; message: string };
  assert.equal(status.kind, "Status");
  return status;
}

const create = (name: string, text = ""): Promise<unknown> =>
  server.client.request(configMaps, {
    method: "POST",
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text } },
  });

async function nextMessage(socket: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
  return { data, isBinary };
}

async function nextEvent(socket: WebSocket): Promise<{ type: string; name: string }> {
  const { type, object } = JSON.parse((await nextMessage(socket)).data.toString("utf8")) as {
    type: string;
    object: { metadata: { name: string } };
  };
  return { type, name: object.metadata.name };
}

const closed = async (socket: WebSocket): Promise<number> => ((await once(socket, "close")) as [number])[0];

describe("a watch over WebSocket", () => {
  it("sends each event as one text message", async () => {
    const socket = open(watchOf("text"));
    await once(socket, "open");
    const event = nextEvent(socket);
    await create("text");
    assert.deepEqual(await event, { type: "ADDED", name: "text" });
    const next = nextEvent(socket);
    await server.client.request(`${configMaps}/text`, { method: "DELETE" });
    assert.deepEqual(await next, { type: "DELETED", name: "text" });
    socket.close();
    assert.equal(await closed(socket), 1005);
  });

  it("sends protobuf as binary messages, without the length that a stream needs", async () => {
    await create("binary");
    const accept = "application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf";
    const socket = open(watchOf("binary"), { headers: { ...asAdministrator(), accept } });
    const { data, isBinary } = await nextMessage(socket);
    assert.ok(isBinary);
    // The first field of a WatchEvent: its type, five bytes long.
    assert.equal(data.toString("latin1", 0, 7), "\n\x05ADDED");
    socket.terminate();
  });

  it("ends normally after timeoutSeconds, and answers pings", async () => {
    const socket = open(`${watchOf("none")}&timeoutSeconds=1`);
    await once(socket, "open");
    socket.ping("alive");
    const [[pong], code] = await Promise.all([once(socket, "pong"), closed(socket)]);
    assert.equal(String(pong), "alive");
    assert.equal(code, 1000);
  });

  it("answers with the first subprotocol that the client offers, and without one when it offers no subprotocol", async () => {
    for (const protocols of [[], ["base64.binary.k8s.io"], ["binary.k8s.io", "base64.binary.k8s.io"]]) {
      const socket = open(watchOf("none"), { protocols });
      await once(socket, "open");
      assert.equal(socket.protocol, protocols[0] ?? "");
      socket.terminate();
    }
  });

  it("reads a bearer token from the subprotocols, and never echoes it", async () => {
    const token = tokenProtocol(server.adminToken);
    const socket = open(watchOf("none"), { headers: {}, protocols: [token, "base64.binary.k8s.io"] });
    await once(socket, "open");
    assert.equal(socket.protocol, "base64.binary.k8s.io");
    socket.terminate();
    assert.equal((await refusalOf(watchOf("none"), { headers: {}, protocols: [token] })).code, 401);
    const wrong = { headers: {}, protocols: [tokenProtocol("wrong"), "base64.binary.k8s.io"] };
    assert.equal((await refusalOf(watchOf("none"), wrong)).code, 401);
  });

  it("ignores a token in a subprotocol of a request that is not a handshake", async () => {
    const { status } = await server.handler({
      method: "GET",
      path: configMaps,
      query: "",
      headers: { "sec-websocket-protocol": `${tokenProtocol(server.adminToken)}, x` },
      connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
      readBody: async () => Buffer.alloc(0),
      signal: new AbortController().signal,
    });
    assert.equal(status, 403);
  });
});

describe("a WebSocket handshake that is refused", () => {
  it("gets an ordinary Status for a missing credential or permission, an unknown resource, a bad option or version", async () => {
    assert.equal((await refusalOf(watchOf("x"), { headers: { authorization: "Bearer wrong" } })).code, 401);
    assert.equal((await refusalOf(watchOf("x"), { headers: {} })).code, 403);
    assert.equal((await refusalOf("/api/v1/nothing?watch=true")).code, 404);
    assert.equal((await refusalOf(`${configMaps}?watch=true&fieldSelector=spec.x%3D1`)).code, 400);
    assert.equal((await refusalOf(watchOf("x"), { protocolVersion: 8 })).code, 400);
  });

  it("is refused for a page of another origin, even with the user's client certificate", async () => {
    const pem = readFileSync(join(server.dataDirectory, "admin.pem"));
    const byCertificate = { headers: {}, cert: pem, key: pem };
    const own = open(watchOf("none"), { ...byCertificate, origin: `https://127.0.0.1:${server.port}` });
    await once(own, "open");
    own.terminate();
    const { port } = server;
    for (const origin of [
      "https://evil.example",
      `https://127.0.0.1.evil.example:${port}`,
      `http://127.0.0.1:${port}`,
      "null",
    ]) {
      assert.equal((await refusalOf(watchOf("none"), { ...byCertificate, origin })).code, 403, origin);
      // A token that is no good does not hide the certificate.
      const protocols = [tokenProtocol("wrong"), "x"];
      assert.equal((await refusalOf(watchOf("none"), { ...byCertificate, origin, protocols })).code, 403, origin);
    }
    const withToken = open(watchOf("none"), { origin: "https://dashboard.example" });
    await once(withToken, "open");
    withToken.terminate();
  });

  it("is answered as an ordinary request when it asks for no stream", async () => {
    const socket = open(configMaps);
    const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
    assert.equal(answer.statusCode, 200);
  });
});

const handshakeFor = (target: string, ...more: readonly string[]): string =>
  `${[
    `GET ${target} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${server.adminToken}`,
    "Connection: keep-alive, Upgrade",
    "Upgrade: WebSocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ...more,
  ].join("\r\n")}\r\n\r\n`;

async function rawConnection(): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  return socket;
}

/** A connection that has opened a watch, and sends what it likes. Frames of the server are parsed as far as needed here. */
async function rawWatch(target: string): Promise<TLSSocket> {
  const socket = await rawConnection();
  socket.write(handshakeFor(target));
  let head = "";
  while (!head.includes("\r\n\r\n")) head += String(((await once(socket, "data")) as [Buffer])[0]);
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /audit-id: /);
  return socket;
}

describe("a WebSocket handshake that the connection cannot take", () => {
  it("is an ordinary request behind a request whose answer has not left", async () => {
    // Node.js answers the second one itself, before any handler sees it.
    for (const header of ["Accept: */*", "Expect: more"]) {
      const socket = await rawConnection();
      const first = `GET /version HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`;
      socket.write(first + handshakeFor("/version", "Connection: close"));
      assert.match(await text(socket), /^HTTP\/1\.1 (?:200|417) .*HTTP\/1\.1 200 /s, header);
    }
  });

  it("waits for an answer before it that is written, and has not left", async () => {
    const socket = await rawConnection();
    // Node.js answers it at once.
    const first = "GET /version HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n\r\n";
    socket.write(first + handshakeFor("/api/v1/namespaces?watch=1"));
    let answers = "";
    while (answers.split("HTTP/1.1 ").length < 3) answers += String(((await once(socket, "data")) as [Buffer])[0]);
    assert.match(answers, /^HTTP\/1\.1 417 .*^HTTP\/1\.1 101 /ms);
    socket.destroy();
  });

  it("is an ordinary request when it has a body", async () => {
    for (const body of ["Content-Length: 5", "Transfer-Encoding: chunked"]) {
      const socket = await rawConnection();
      socket.write(handshakeFor("/version", body));
      assert.match(await text(socket), /^HTTP\/1\.1 200 /, body);
    }
  });
});

/** The code of the close frame that the server sends. */
async function closeCode(socket: TLSSocket): Promise<number> {
  let received = Buffer.alloc(0);
  for (;;) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    received = Buffer.concat([received, chunk]);
    const at = received.indexOf(0x88);
    if (at >= 0 && received.length >= at + 4) return received.readUInt16BE(at + 2);
  }
}

const opcodes = { continuation: 0, text: 1, ping: 9 } as const;

/** A frame with a mask of zeros, so that its payload is as it is given. */
function frame(type: keyof typeof opcodes, payload: Buffer, { isFinal = true, isMasked = true } = {}): Buffer {
  const long = payload.length > 125;
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = (isFinal ? 0x80 : 0) | opcodes[type];
  head[1] = (isMasked ? 0x80 : 0) | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, ...(isMasked ? [Buffer.alloc(4)] : []), payload]);
}

describe("a hostile WebSocket", () => {
  const small = Buffer.from("x");
  const hugeLength = Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  const attacks: Readonly<Record<string, { readonly bytes: Buffer; readonly code: number }>> = {
    "a frame that says it is 2^63 bytes long": { bytes: hugeLength, code: 1009 },
    "a message above 4 KiB": { bytes: frame("text", Buffer.alloc(5000)), code: 1009 },
    "fragments above 4 KiB together": {
      bytes: Buffer.concat([
        frame("text", Buffer.alloc(3000), { isFinal: false }),
        frame("continuation", Buffer.alloc(3000), { isFinal: false }),
      ]),
      code: 1009,
    },
    "a message in endless fragments": {
      bytes: Buffer.concat([
        frame("text", small, { isFinal: false }),
        ...Array.from({ length: 1000 }, () => frame("continuation", Buffer.alloc(0), { isFinal: false })),
      ]),
      code: 1008,
    },
    "a frame without a mask": { bytes: frame("text", small, { isMasked: false }), code: 1002 },
    "a continuation of nothing": { bytes: frame("continuation", small), code: 1002 },
    "a flood of pings": { bytes: Buffer.concat(Array.from({ length: 1000 }, () => frame("ping", small))), code: 1008 },
    "a flood of messages": {
      bytes: Buffer.concat(Array.from({ length: 1000 }, () => frame("text", small))),
      code: 1008,
    },
  };
  it("is closed with the code that belongs to what it does", async () => {
    for (const [attack, { bytes, code }] of Object.entries(attacks)) {
      const socket = await rawWatch(watchOf("none"));
      socket.on("error", () => undefined);
      const answered = closeCode(socket);
      socket.write(bytes);
      assert.equal(await answered, code, attack);
      socket.destroy();
    }
  });

  it("is not waited for when the server stops", async () => {
    const own = await startTestServer({ settings: { controllers: false } });
    const socket = new WebSocket(`wss://127.0.0.1:${own.port}${watchOf("none")}`, [], {
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${own.adminToken}` },
    });
    await once(socket, "open");
    const ended = closed(socket);
    await own.stop({ graceMilliseconds: 1000 });
    assert.equal(await ended, 1001);
  });
});
