import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { describe, it } from "node:test";
import type { ByteSink, Handler, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { openHttp2, openTls, sendHttp1, sendHttp2, text, withListener } from "./listener-scene.ts";
import { collectGarbage } from "../../../collect-garbage.ts";

describe("the listener", () => {
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
      collectGarbage();
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

  const large = Buffer.alloc(40_000_000);
  const largeStream = {
    status: 200,
    headers: {},
    body: { start: (sink: ByteSink) => (sink.write(large), () => undefined) },
  };
  const webSocket =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
  for (const [what, limits, headers, answer] of [
    ["an answer", { requestSeconds: 2 }, "Connection: close\r\n", text(large.toString("latin1"))],
    ["a watch", { unsentBytes: 1_500_000 }, "", largeStream],
    ["a watch over WebSocket", { unsentBytes: 1_500_000 }, webSocket, { ...largeStream, status: 101 }],
  ] as const) {
    it(`ends a connection of HTTP/1.1 whose client does not read ${what}`, async () => {
      const handler: Handler = async () => ({ ...answer, headers: { ...answer.headers } });
      await withListener({ handler, limits }, async (port, listener) => {
        const socket = await openTls(port);
        socket.write(`GET / HTTP/1.1\r\nHost: h\r\n${headers}\r\n`);
        const [begin] = (await once(socket, "data")) as [Buffer];
        socket.pause();
        for (let second = 0; second < 4; second++) listener.sweep();
        let received = begin.length;
        socket.on("data", (bytes: Buffer) => (received += bytes.length)).resume();
        await once(socket, "close");
        assert.ok(received < large.length);
      });
    });
  }
});
