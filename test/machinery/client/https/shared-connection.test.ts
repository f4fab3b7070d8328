import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, createSecureServer } from "node:http2";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createServer as createTlsServer } from "node:tls";
import { describe, it, test } from "node:test";
import type { TestContext } from "node:test";
import { checkMilliseconds } from "../../../../src/machinery/client/https/bytes-beside-answers.ts";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import { readText } from "../../../../src/machinery/client/transport.ts";
import { goAwayFrame, settingsFrame, windowUpdateFrame } from "../../../../src/machinery/http2/control-frames.ts";
import { ServerFront } from "../../../agent/server-front.ts";
import { tls, portOf, transportTo, credentials, ask, giveUp, impatient } from "./transport-under-test.ts";

/** The server has so long to answer a PING. */
const pongMilliseconds = 5000;

const oneUpdate = windowUpdateFrame(0, 1);

/** Valid frames that bring nothing. */
const windowUpdates = Buffer.alloc(5000 * oneUpdate.length, oneUpdate);

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
