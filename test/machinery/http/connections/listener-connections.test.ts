import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { ByteSink, Handler } from "../../../../src/machinery/api/http-message.ts";
import { ConnectionRoom } from "../../../../src/machinery/http/connections/connection-room.ts";
import type { ConnectionLimits } from "../../../../src/machinery/http/connections/connection-room.ts";
import { HandshakeTurns } from "../../../../src/machinery/http/connections/handshake-turns.ts";
import { clientPreface } from "../../../../src/machinery/http2/protocol.ts";
import { encodeFrame, settings } from "../../http2/frame-client.ts";
import { turnsOfRequests } from "../../scheduling/turns-of-requests.ts";
import { protocols, sendThenLeave } from "../leaving-client.ts";
import {
  changeKeys,
  openHttp2,
  openTls,
  openTlsOrFail,
  sendHttp1,
  sendHttp2,
  statusesOf,
  text,
  withListener,
} from "./listener-scene.ts";
import { collectGarbage } from "../../../collect-garbage.ts";

/** The client's side of a TLS connection that sends its first bytes, and gets none of the answer. */
class HeldBack extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.#socket.write(bytes);
    done();
  }
}

describe("the listener", () => {
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

  it("keeps nothing of a connection whose client leaves in the handshake", async (t) => {
    const sockets: WeakRef<object>[] = [];
    const opened = (message: unknown): void => {
      const { socket } = message as { readonly socket: object }; // what Node.js publishes in this channel
      sockets.push(new WeakRef(socket));
    };
    subscribe("net.server.socket", opened);
    t.after(() => unsubscribe("net.server.socket", opened));
    await withListener({}, async (port) => {
      const leaves = [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()];
      for (const leave of leaves) {
        const socket = connectTcp(port, "127.0.0.1").on("error", () => {});
        connectTls({ socket: new HeldBack(socket) }).on("error", () => {});
        await once(socket, "readable");
        leave(socket.resume());
      }
      const areKept = (): boolean => sockets.length < 2 || sockets.some((socket) => socket.deref() !== undefined);
      // The server notices after a pause that a client has left.
      for (let tries = 0; tries < 100 && areKept(); tries++) {
        await turn();
        collectGarbage();
      }
      assert.equal(areKept(), false);
    });
  });

  it("shortens the turns of requests when it accepts a connection, so that it soon accepts the next", async (t) => {
    await withListener({}, async (port) => {
      const turns = turnsOfRequests(t);
      await turns.useUp();
      assert.equal(await turns.ofThree(), 1);
      connectTcp(port, "127.0.0.1").on("error", () => {});
      for (let waits = 0; waits < 1000 && (await turns.ofThree()) === 1; waits++) await turn();
      assert.equal(await turns.ofThree(), 3);
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
});
