import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { constants, createSecureServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createServer as createTlsServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { describe, it, test } from "node:test";
import type { TestContext } from "node:test";
import { urlHost } from "../../../../src/machinery/api/addresses/url-host.ts";
import { checkMilliseconds } from "../../../../src/machinery/client/https/bytes-beside-answers.ts";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../../../src/machinery/client/https/https-transport.ts";
import type { TlsCredentials } from "../../../../src/machinery/client/https/tls-options.ts";
import { readText, UnreadableAnswer } from "../../../../src/machinery/client/transport.ts";
import type { ClientRequest, Transport } from "../../../../src/machinery/client/transport.ts";
import { goAwayFrame, settingsFrame, windowUpdateFrame } from "../../../../src/machinery/http2/control-frames.ts";
import { newPair } from "../../../agent/new-pair.ts";
import { ServerFront } from "../../../agent/server-front.ts";

const serving = newPair();
const tls = { key: serving.keyPem, cert: serving.certificatePem, requestCert: true, rejectUnauthorized: false };
const maximumRequests = 20;
/** The server has so long to answer a PING. */
const pongMilliseconds = 5000;

/** Those that this machine has. */
const loopbackAddresses = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .map(({ address }) => address)
  .filter((address) => ["127.0.0.1", "::1"].includes(address));

/** Listens on a free port. */
async function portOf(server: Server, address = "127.0.0.1"): Promise<number> {
  server.listen(0, address);
  await once(server, "listening");
  return (server.address() as AddressInfo).port; // it listens on TCP
}

/** A transport to a server that begins to listen now. Both end with the test. */
async function transportTo(server: Server, context: TestContext): Promise<Transport> {
  const transport = httpsTransport({
    server: `https://127.0.0.1:${await portOf(server)}`,
    skipsServerVerification: true,
  });
  context.after(() => {
    transport.close();
    server.close();
  });
  return transport;
}

type Incoming = IncomingMessage | Http2ServerRequest;
type Answer = ServerResponse | Http2ServerResponse;

/** What the paths of the server do. */
class Behaviour {
  /** Requests to /held, in their order. */
  readonly held: Answer[] = [];
  readonly #onHeld: (() => void)[] = [];
  /** Of all requests. */
  readonly paths: string[] = [];

  answer(incoming: Incoming, response: Answer): void {
    const { pathname } = new URL(incoming.url ?? "/", "https://server");
    this.paths.push(pathname);
    if (pathname === "/silent") return;
    const begin = (text: string): void => void (response as ServerResponse).write(text);
    if (pathname === "/hints") {
      const count = Number(incoming.headers["x-hints"]);
      for (let hint = 0; hint < count; hint++) response.writeEarlyHints({ link: "</a>" });
      return void response.end();
    }
    if (pathname === "/endless" || pathname === "/endless-refusal") {
      if (pathname === "/endless-refusal") response.statusCode = 500;
      // As fast as it is read.
      const more = (): void => void ((response as ServerResponse).write(Buffer.alloc(64 * 1024)) && setImmediate(more));
      response.on("drain", more).on("error", () => {});
      return more();
    }
    if (pathname.endsWith("/echo")) {
      const { method, url, headers } = incoming;
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        response.setHeader("x-answer", "yes");
        response.statusCode = 418;
        response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
      });
      return;
    }
    const { serialNumber } = (incoming.socket as TLSSocket).getPeerCertificate(); // a TLS server's sockets are
    begin(`${serialNumber} ${incoming.socket.remotePort}`);
    if (pathname !== "/held") return void response.end();
    this.held.push(response);
    for (const wake of this.#onHeld.splice(0)) wake();
  }

  async holds(count: number): Promise<void> {
    while (this.held.length < count) await new Promise<void>((resolve) => this.#onHeld.push(resolve));
  }
}

const protocols = [
  {
    protocol: "HTTP/2",
    serve: (listener: (incoming: Incoming, response: Answer) => void): Server =>
      createSecureServer({ ...tls, settings: { maxConcurrentStreams: maximumRequests } }, listener),
  },
  {
    protocol: "HTTP/1.1",
    serve: (listener: (incoming: Incoming, response: Answer) => void): Server =>
      createServer({ ...tls, keepAliveTimeout: 0 }, listener as RequestListener),
  },
];

const credentials = (): TlsCredentials => {
  const { certificatePem, keyPem } = newPair();
  return { clientCertificate: { certificate: certificatePem, key: keyPem } };
};

const ask = async (transport: Transport, path: string, more: Partial<ClientRequest> = {}): Promise<string> =>
  readText((await transport.send({ method: "GET", path, ...more })).body);

/** A caller asks, and has no answer in its time. */
async function giveUp(transport: Transport): Promise<void> {
  const time = new AbortController();
  const late = ask(transport, "/", { signal: time.signal });
  setImmediate(() => time.abort(new DOMException("the time is over", "TimeoutError")));
  await assert.rejects(late);
}

/** Requests that may be silent for as long as `watchIdleMilliseconds` says. */
const impatient = { query: "watch=true&allowWatchBookmarks=true" };

for (const { protocol, serve } of protocols) {
  describe(`a transport over ${protocol}`, () => {
    async function start(context: TestContext, options: Partial<HttpsTransportOptions> = {}) {
      const behaviour = new Behaviour();
      const server = serve((incoming, response) => behaviour.answer(incoming, response));
      const port = await portOf(server);
      const front = new ServerFront(() => `https://127.0.0.1:${port}`);
      await front.open();
      const transport = httpsTransport({ server: front.url, skipsServerVerification: true, ...options });
      context.after(async () => {
        transport.close();
        await front.close();
        server.close();
      });
      const openConnections = (): Promise<number> =>
        new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
      return { behaviour, front, transport, openConnections };
    }

    it("uses new connections after a caller has had no answer in its time", async (context) => {
      const { behaviour, front, transport } = await start(context);
      const held = ["/held", "/held", "/held"].map((path) => ask(transport, path));
      await behaviour.holds(3);
      for (const response of behaviour.held) response.end();
      await Promise.all(held);
      front.fallSilent();
      await giveUp(transport);
      front.speak();
      await ask(transport, "/");
    });

    for (const address of loopbackAddresses) {
      it(`names the server as its URL does, for a server on ${address}`, async (context) => {
        const named: unknown[] = [];
        const server = serve(({ headers }, response) => {
          named.push(headers[":authority"] ?? headers.host);
          response.end();
        });
        const url = `https://${urlHost(address)}:${await portOf(server, address)}`;
        const transport = httpsTransport({ server: url, skipsServerVerification: true });
        context.after(() => {
          transport.close();
          server.close();
        });
        await ask(transport, "/");
        assert.deepEqual(named, [new URL(url).host]);
      });
    }

    it("sends method, path, query, headers and body, and returns status, headers and body", async (context) => {
      const { front } = await start(context);
      const transport = httpsTransport({
        server: `${front.url}/prefix/`,
        skipsServerVerification: true,
        bearerToken: () => "secret",
        userAgent: "a test",
        headers: { "X-Group": ["one", "two"] },
      });
      context.after(() => transport.close());
      for (const method of ["POST", "PATCH", "DELETE"]) {
        const { status, headers, body } = await transport.send({
          method,
          path: "/echo",
          query: "a=1",
          headers: { "content-type": "text/plain" },
          body: "å",
        });
        assert.deepEqual([status, headers["x-answer"]], [418, "yes"]);
        const asked = JSON.parse(await readText(body)) as Record<"method" | "url" | "body", string> & {
          readonly headers: Record<string, string>;
        };
        assert.deepEqual([asked.method, asked.url, asked.body], [method, "/prefix/echo?a=1", "å"]);
        assert.equal(asked.headers["authorization"], "Bearer secret");
        assert.equal(asked.headers["user-agent"], "a test");
        assert.equal(asked.headers["x-group"], "one, two");
        assert.equal(asked.headers["content-length"], "2");
        assert.equal(asked.headers["content-type"], "text/plain");
      }
    });

    it("posts to the root of the server when neither its URL nor the request has a path", async (context) => {
      const { transport, behaviour } = await start(context);
      const posted = transport.send({ method: "POST", path: "", body: "{}" });
      assert.equal((await posted).status, 200);
      assert.deepEqual(behaviour.paths, ["/"]);
    });

    it("uses new credentials at once on new connections, and does not disturb running requests", async (context) => {
      let current = credentials();
      const { transport, behaviour, openConnections } = await start(context, { tlsCredentials: () => current });
      const first = await ask(transport, "/");
      assert.equal(await ask(transport, "/"), first, "the connection is kept");
      const running = transport.send({ method: "GET", path: "/held" });
      await behaviour.holds(1);
      current = credentials();
      const second = await ask(transport, "/");
      assert.notEqual(second.split(" ")[0], first.split(" ")[0], "another certificate");
      assert.equal(await ask(transport, "/"), second, "the new connection is kept");
      behaviour.held[0]?.end(" whole");
      assert.equal(await readText((await running).body), `${first} whole`);
      assert.ok((await openConnections()) <= 2);
    });

    it("runs more requests at once than one connection allows", async (context) => {
      const { transport, behaviour } = await start(context);
      const answers = Array.from({ length: 3 * maximumRequests }, () => ask(transport, "/held"));
      await behaviour.holds(answers.length);
      for (const answer of behaviour.held) answer.end("!");
      assert.ok((await Promise.all(answers)).every((text) => text.endsWith("!")));
    });

    it("serves other requests while an answer is not read", async (context) => {
      const { transport } = await start(context);
      const { body } = await transport.send({ method: "GET", path: "/endless" });
      const reader = body[Symbol.asyncIterator]();
      await reader.next();
      for (let requests = 0; requests < 3; requests++) await ask(transport, "/");
      await reader.return?.();
    });

    it("fails a request without an answer in time, and answers the next one", async (context) => {
      const { transport } = await start(context, { watchIdleMilliseconds: 100 });
      await assert.rejects(ask(transport, "/silent", impatient), /no answer from 127\.0\.0\.1 in time/);
      await ask(transport, "/");
    });

    it("fails a request whose answer has more bytes than it may have, but not a watch", async (context) => {
      const { transport } = await start(context, { largestAnswerBytes: 2 ** 20 });
      await assert.rejects(ask(transport, "/endless"), /the answer has more than 1 MiB/);
      const { body } = await transport.send({ method: "GET", path: "/endless", query: "watch=true" });
      let bytes = 0;
      for await (const chunk of body) if ((bytes += chunk.length) > 2 ** 21) break;
      assert.ok(bytes > 2 ** 21);
      await ask(transport, "/");
    });

    it("reads interim answers before the answer, but not without end", async (context) => {
      const { transport } = await start(context);
      await ask(transport, "/hints", { headers: { "x-hints": "5" } });
      await assert.rejects(
        ask(transport, "/hints", { headers: { "x-hints": "5000" } }),
        (error) => error instanceof UnreadableAnswer && /without end/.test(error.message),
      );
      await ask(transport, "/");
    });

    it("fails a watch that is refused in more bytes than an answer may have", async (context) => {
      const { transport } = await start(context, { largestAnswerBytes: 2 ** 20 });
      const watch = async (): Promise<void> => {
        let bytes = 0;
        const { body } = await transport.send({ method: "GET", path: "/endless-refusal", query: "watch=true" });
        for await (const chunk of body) if ((bytes += chunk.length) > 2 ** 21) break;
      };
      await assert.rejects(watch, /the answer has more than 1 MiB/);
      await ask(transport, "/");
    });

    it("fails a request whose answer does not end in two minutes, but not a watch", async (context) => {
      const scheduled: (readonly [milliseconds: number, end: () => void])[] = [];
      let cancelled = 0;
      const { transport, behaviour } = await start(context, {
        schedule: (end, milliseconds) => {
          scheduled.push([milliseconds, end]);
          return () => void cancelled++;
        },
      });
      const held = ["", "watch=true", ""].map((query) => transport.send({ method: "GET", path: "/held", query }));
      await behaviour.holds(3);
      assert.deepEqual(
        scheduled.map(([milliseconds]) => milliseconds),
        [120_000, 120_000],
      );
      const [begun, watch, other] = await Promise.all(held);
      for (const [, end] of scheduled) end();
      for (const late of [begun, other]) {
        await assert.rejects(readText(late?.body ?? assert.fail()), /no answer from 127\.0\.0\.1 in time/);
      }
      for (const answer of behaviour.held) answer.end();
      await readText(watch?.body ?? assert.fail());
      await ask(transport, "/");
      assert.equal(cancelled, 3);
    });

    it("fails when the connection is cut in the middle of an answer, and connects again", async (context) => {
      const { transport, front, behaviour } = await start(context);
      const { body } = await transport.send({ method: "GET", path: "/held" });
      await behaviour.holds(1);
      front.cut();
      await assert.rejects(readText(body), {
        code: "ECONNRESET",
        message: "the connection ended before the answer was complete",
      });
      await ask(transport, "/");
    });

    it("ends an aborted request, before and in the middle of its answer", async (context) => {
      const { transport, behaviour, front } = await start(context);
      const aborted = new AbortController();
      const answer = await transport.send({ method: "GET", path: "/held", signal: aborted.signal });
      const silent = ask(transport, "/silent", { signal: aborted.signal });
      await behaviour.holds(1);
      aborted.abort();
      await assert.rejects(silent);
      await assert.rejects(readText(answer.body));
      await assert.rejects(ask(transport, "/", { signal: aborted.signal }));
      await ask(transport, "/");

      front.cut();
      front.fallSilent();
      const connecting = new AbortController();
      const refused = assert.rejects(ask(transport, "/", { signal: connecting.signal }));
      connecting.abort();
      await refused;
    });

    it("fails all requests when it is closed", async (context) => {
      const { transport, behaviour, front } = await start(context);
      const { body } = await transport.send({ method: "GET", path: "/held" });
      await behaviour.holds(1);
      const failed = [ask(transport, "/silent"), readText(body)].map((answer) => assert.rejects(answer));
      transport.close();
      await Promise.all(failed);

      front.fallSilent();
      const connecting = assert.rejects(ask(transport, "/"));
      transport.close();
      await connecting;
    });

    it("says why it cannot connect", async (context) => {
      const { front } = await start(context);
      const untrusted = httpsTransport({ server: front.url });
      context.after(() => untrusted.close());
      await assert.rejects(ask(untrusted, "/"), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
      await front.close();
      await assert.rejects(ask(untrusted, "/"), { code: "ECONNREFUSED" });
    });
  });
}

describe("a transport that shares one connection of HTTP/2", () => {
  async function start(
    context: TestContext,
    onStream: (stream: ServerHttp2Stream, path: string) => void,
    { maxConcurrentStreams = 100 } = {},
  ) {
    const server = createSecureServer({ ...tls, settings: { maxConcurrentStreams } });
    const sessions: ServerHttp2Session[] = [];
    server.on("session", (session) => sessions.push(session));
    server.on("stream", (stream: ServerHttp2Stream, { ":path": path = "" }) => {
      stream.on("error", () => {}); // its client sees it too
      onStream(stream, path);
    });
    const port = await portOf(server);
    const front = new ServerFront(() => `https://127.0.0.1:${port}`);
    await front.open();
    const options = { server: front.url, skipsServerVerification: true };
    const transport = httpsTransport({ ...options, watchIdleMilliseconds: 100 });
    const unlimited = httpsTransport({ ...options, timeoutMilliseconds: 0 });
    context.after(async () => {
      transport.close();
      unlimited.close();
      await front.close();
      server.close();
    });
    return { transport, unlimited, sessions, front };
  }

  const answer = (stream: ServerHttp2Stream, path: string): void => {
    stream.respond({ ":status": 200 });
    stream.end(path);
  };

  it("gives up a connection whose handshake hangs for half a minute, also where requests may take any time", async (context) => {
    const { unlimited, front } = await start(context, answer);
    front.fallSilent();
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const hanging = assert.rejects(ask(unlimited, "/first"), /no answer from 127\.0\.0\.1 in time/);
    while (front.connections === 0) await new Promise((resolve) => setImmediate(resolve));
    front.speak();
    context.mock.timers.tick(30_000);
    await hanging;
    assert.equal(await ask(unlimited, "/second"), "/second");
  });

  it("fails at once where the server refuses the client certificate, which TLS 1.3 tells after the handshake", async (context) => {
    const pair = join(mkdtempSync(join(tmpdir(), "signet-refusing-")), "pair.pem");
    writeFileSync(pair, tls.key + tls.cert);
    const flags = ["-accept", "127.0.0.1:0", "-alpn", "h2", "-cert", pair, "-key", pair, "-Verify", "1"];
    const refusing = spawn("openssl", ["s_server", ...flags, "-verify_return_error"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    context.after(() => {
      refusing.kill();
      rmSync(dirname(pair), { recursive: true });
    });
    const port = Promise.withResolvers<string>();
    createInterface({ input: refusing.stdout }).on("line", (line) => {
      const [, accepting] = /^ACCEPT .*:(\d+)$/.exec(line) ?? [];
      if (accepting !== undefined) port.resolve(accepting);
    });
    const server = `https://127.0.0.1:${await port.promise}`;
    const transport = httpsTransport({ server, skipsServerVerification: true, ...credentials() });
    context.after(() => transport.close());
    // The time for a new connection is never over.
    context.mock.timers.enable({ apis: ["setTimeout"] });
    await assert.rejects(ask(transport, "/"), ({ code = "" }: NodeJS.ErrnoException) =>
      /^ERR_SSL_|^ECONNRESET$/.test(code),
    );
  });

  it("opens only one, however many requests there are at once", async (context) => {
    const { transport, sessions } = await start(context, answer);
    await Promise.all(Array.from({ length: 30 }, () => ask(transport, "/")));
    assert.equal(sessions.length, 1);
  });

  it("sends no request more than the server takes at once, also before the first answer", async (context) => {
    const refused: number[] = [];
    let running = 0;
    const onStream = (stream: ServerHttp2Stream, path: string): void => {
      refused.push(Math.max(0, ++running - 2 * sessions.length));
      setImmediate(() => (running--, answer(stream, path)));
    };
    const { transport, sessions } = await start(context, onStream, { maxConcurrentStreams: 2 });
    const paths = Array.from({ length: 150 }, (_, index) => `/${index}`);
    assert.deepEqual(await Promise.all(paths.map((path) => ask(transport, path))), paths);
    assert.equal(refused.length, paths.length);
    assert.equal(Math.max(...refused), 0);
  });

  it("fails the requests to a server that takes none, and opens no connections without end", async (context) => {
    const { transport, sessions } = await start(context, answer, { maxConcurrentStreams: 0 });
    const asked = ["/a", "/b"].map((path) => ask(transport, path));
    for (const one of asked) await assert.rejects(one, /before it took the request/);
    assert.equal(sessions.length, 3);
  });

  it("sends a request again that the server has not taken, and only that", async (context) => {
    const asked: string[] = [];
    const { transport, sessions } = await start(context, (stream, path) => {
      asked.push(path);
      if (asked.filter((one) => one === path).length > 1) return answer(stream, path);
      stream.close(path === "/refused" ? constants.NGHTTP2_REFUSED_STREAM : constants.NGHTTP2_INTERNAL_ERROR);
    });
    assert.equal(await ask(transport, "/refused"), "/refused");
    await assert.rejects(ask(transport, "/failed"));
    assert.deepEqual(asked, ["/refused", "/refused", "/failed"]);
    assert.equal(sessions.length, 1);
  });

  it("does not send a refused request without end", async (context) => {
    let requests = 0;
    const { transport } = await start(context, (stream) => {
      requests++;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    await assert.rejects(ask(transport, "/"), /before it took the request/);
    assert.equal(requests, 3);
  });

  it("fails a request whose headers are too long to be sent, and no request after it", async (context) => {
    const { transport } = await start(context, answer);
    const headers = { authorization: "x".repeat(2 ** 16) };
    await assert.rejects(transport.send({ method: "GET", path: "/long", headers }), /more than 64 KiB/);
    assert.equal(await ask(transport, "/"), "/");
  });

  it("sends a request again that it began when the server said that it takes no more", async (context) => {
    const { transport, sessions } = await start(context, (stream, path) => {
      answer(stream, path);
      if (path === "/last") stream.session?.goaway();
    });
    const { body } = await transport.send({ method: "GET", path: "/last" });
    const next = ask(transport, "/next");
    assert.deepEqual([await readText(body), await next], ["/last", "/next"]);
    assert.equal(sessions.length, 2);
  });

  async function startWatch(context: TestContext) {
    const scene = await start(context, (stream, path) => {
      if (path.startsWith("/watch")) stream.respond({ ":status": 200 });
      else answer(stream, path);
    });
    const query = "watch=true&timeoutSeconds=3600";
    return { ...scene, watch: await scene.transport.send({ method: "GET", path: "/watch", query }) };
  }

  it("closes a connection on which nothing arrives any more, and fails its requests", async (context) => {
    const { transport, front, sessions, watch } = await startWatch(context);
    front.fallSilent();
    context.mock.timers.enable({ apis: ["setTimeout"] });
    await assert.rejects(ask(transport, "/", impatient), /in time/);
    front.speak();
    context.mock.timers.tick(pongMilliseconds);
    await assert.rejects(readText(watch.body), /in time/);
    await ask(transport, "/");
    assert.equal(sessions.length, 2);
  });

  it("closes a connection on which nothing arrives within the time of a caller", async (context) => {
    const { transport, front, sessions, watch } = await startWatch(context);
    front.fallSilent();
    context.mock.timers.enable({ apis: ["setTimeout"] });
    await giveUp(transport);
    front.speak();
    await ask(transport, "/");
    assert.equal(sessions.length, 2);
    context.mock.timers.tick(pongMilliseconds);
    await assert.rejects(readText(watch.body), /in time/);
  });

  it("continues with a connection on which a caller wants no answer any more", async (context) => {
    const { transport, sessions } = await start(context, (stream, path) => {
      if (path !== "/silent") answer(stream, path);
    });
    await ask(transport, "/");
    const caller = new AbortController();
    const unwanted = ask(transport, "/silent", { signal: caller.signal });
    setImmediate(() => caller.abort());
    await assert.rejects(unwanted);
    await ask(transport, "/");
    assert.equal(sessions.length, 1);
  });

  it("keeps a connection whose server is only slow", async (context) => {
    const used: unknown[] = [];
    const { transport, sessions } = await start(context, (stream, path) => {
      used.push(stream.session);
      if (path === "/") answer(stream, path);
      else stream.respond({ ":status": 200 });
    });
    const watch = await transport.send({ method: "GET", path: "/watch", query: "watch=true&timeoutSeconds=3600" });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    await assert.rejects(ask(transport, "/slow", impatient), /in time/);
    // Requests use another connection until this one has answered.
    do await ask(transport, "/");
    while (used.at(-1) !== sessions[0]);
    context.mock.timers.tick(pongMilliseconds);
    assert.equal(sessions[0]?.destroyed, false);
    await watch.body[Symbol.asyncIterator]().return?.();
  });

  it("ends a connection whose server says without end that it takes no more requests", async (context) => {
    const { transport, sessions } = await start(context, (stream) => {
      for (let goAways = 0; goAways < 100; goAways++) stream.session?.goaway();
    });
    await assert.rejects(ask(transport, "/"), /ended before the answer/);
    assert.equal(sessions.length, 1);
  });

  it("loses no request while the server closes one connection after the other", async (context) => {
    const { transport, sessions } = await start(context, (stream, path) => {
      stream.session?.close();
      setImmediate(() => answer(stream, path));
    });
    for (let requests = 0; requests < 10; requests++) {
      assert.deepEqual(await Promise.all(["/a", "/b"].map((path) => ask(transport, path))), ["/a", "/b"]);
    }
    assert.ok(sessions.length > 1);
  });
});

const oneUpdate = windowUpdateFrame(0, 1);
/** Valid frames that bring nothing. */
const windowUpdates = Buffer.alloc(5000 * oneUpdate.length, oneUpdate);

test("a connection of HTTP/2 is closed when its server takes no more requests, also if that does not close its side", async (context) => {
  const isLeft = Promise.withResolvers<boolean>();
  const server = createTlsServer({ ...tls, ALPNProtocols: ["h2"], allowHalfOpen: true }, (socket) => {
    let writes = 0;
    // What comes on a connection that is closed resets it. All of it is less than a server may send beside its answers.
    const writeOn = (error?: Error | null): void => {
      if (error || ++writes === 100) isLeft.resolve(writes < 100);
      else socket.write(windowUpdates, writeOn);
    };
    socket.on("error", () => {}).on("end", () => writeOn());
    socket.resume().write(Buffer.concat([settingsFrame([]), goAwayFrame({ lastStreamId: 0 })]));
  });
  await assert.rejects(ask(await transportTo(server, context), "/"));
  assert.equal(await isLeft.promise, true);
});

test("a connection of HTTP/2 ends when its server sends frames without end that are no answers", async (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const isCut = Promise.withResolvers<boolean>();
  const server = createTlsServer({ ...tls, ALPNProtocols: ["h2"] }, (socket) => {
    let writes = 0;
    const writeOn = (error?: Error | null): void => {
      if (error || ++writes === 1000) return isCut.resolve(writes < 1000);
      if (writes % 20 === 0) context.mock.timers.tick(checkMilliseconds);
      socket.write(windowUpdates, writeOn);
    };
    socket.on("error", () => {}).resume();
    socket.write(settingsFrame([]), writeOn);
  });
  await assert.rejects(ask(await transportTo(server, context), "/"), /frames without end/);
  assert.equal(await isCut.promise, true);
});

test("a request over HTTP/1.1 fails when its answer changes the protocol", async (context) => {
  const server = createServer({ ...tls, ALPNProtocols: ["http/1.1"] }, (_, response) => {
    response.writeHead(101, { connection: "upgrade", upgrade: "other" }).end();
  });
  await assert.rejects(ask(await transportTo(server, context), "/"), /before the answer was complete/);
});

test("a server that is replaced by one that speaks another protocol answers the next request, also one that it must not get twice", async (context) => {
  const http1 = (): Server =>
    createServer({ ...tls, ALPNProtocols: ["http/1.1"] }, ({ httpVersion }, response) => {
      response.writeHead(200, { connection: "close" }).end(httpVersion);
    });
  const http2 = (): Server =>
    createSecureServer(tls, ({ stream, httpVersion }, response) => {
      response.end(httpVersion);
      stream.session?.close();
    });
  const review = { method: "POST", body: "{}" };
  const first = http1();
  const transport = await transportTo(first, context);
  const { port } = first.address() as AddressInfo; // it listens on TCP
  const versions = [await ask(transport, "/", review)];
  let running = first;
  for (const make of [http2, http1, http2]) {
    running.close();
    await once(running, "close");
    running = make().listen(port, "127.0.0.1");
    await once(running, "listening");
    versions.push(await ask(transport, "/", review));
  }
  running.close();
  assert.deepEqual(versions, ["1.1", "2.0", "1.1", "2.0"]);
});

describe("a connection of HTTP/1.1 that was kept open, and that the server closes when it gets the next request", () => {
  async function start(context: TestContext) {
    let connections = 0;
    const server = createServer({ ...tls, ALPNProtocols: ["http/1.1"] }, (incoming, response) => {
      // As after an answer that announced nothing: the first request of each connection is answered.
      if (answered.has(incoming.socket)) return void incoming.socket.destroy();
      answered.add(incoming.socket);
      const end = (): void => void response.end(String(incoming.socket.remotePort));
      if (incoming.url !== "/held") return end();
      held.push(end);
      if (held.length === 3) for (const one of held) one();
    });
    const answered = new WeakSet<object>();
    const held: (() => void)[] = [];
    server.on("secureConnection", () => connections++);
    return { transport: await transportTo(server, context), connections: () => connections };
  }

  it("fails no request that the server may get twice", async (context) => {
    const { transport } = await start(context);
    const review = { method: "POST", body: "{}", isRepeatable: true };
    // Three are kept open.
    const first = await Promise.all(["/held", "/held", "/held"].map((path) => ask(transport, path)));
    for (const more of [{}, review, {}, review]) assert.ok(!first.includes(await ask(transport, "/", more)));
  });

  it("fails all others, whose effect is not known", async (context) => {
    const { transport, connections } = await start(context);
    await ask(transport, "/");
    const before = connections();
    await assert.rejects(ask(transport, "/", { method: "POST", body: "{}" }), { code: "ECONNRESET" });
    assert.equal(connections(), before);
  });
});
