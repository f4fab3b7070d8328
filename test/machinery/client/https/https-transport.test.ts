import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { networkInterfaces } from "node:os";
import type { TLSSocket } from "node:tls";
import { describe, it, test } from "node:test";
import type { TestContext } from "node:test";
import { urlHost } from "../../../../src/machinery/api/addresses/url-host.ts";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../../../src/machinery/client/https/https-transport.ts";
import { readText, UnreadableAnswer } from "../../../../src/machinery/client/transport.ts";
import { ServerFront } from "../../../agent/server-front.ts";
import { tls, portOf, transportTo, credentials, ask, giveUp, impatient } from "./transport-under-test.ts";

const maximumRequests = 20;

/** Those that this machine has. */
const loopbackAddresses = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .map(({ address }) => address)
  .filter((address) => ["127.0.0.1", "::1"].includes(address));

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
