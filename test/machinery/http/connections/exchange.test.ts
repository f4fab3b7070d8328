import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import type { Handler } from "../../../../src/machinery/api/http-message.ts";
import { protocols, sendThenLeave } from "../leaving-client.ts";
import { openHttp2, openTls, sendHttp2, text, withListener } from "./listener-scene.ts";

describe("the listener", () => {
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
});
