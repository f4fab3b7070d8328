import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import type { Handler } from "../../../../src/machinery/api/http-message.ts";
import { resetFrame } from "../../../../src/machinery/http2/control-frames.ts";
import { clientPreface, errorCodes } from "../../../../src/machinery/http2/protocol.ts";
import { encodeFrame, get as getFrame, reset, settings } from "../../http2/frame-client.ts";
import type { RawFrame } from "../../http2/frame-client.ts";
import { WaitingRequests } from "../../../../src/machinery/http/connections/waiting-requests.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../../turns-during.ts";
import {
  newListener,
  openHttp2,
  openTls,
  sendHttp2,
  sendRaw,
  statusesOf,
  text,
  withListener,
} from "./listener-scene.ts";

describe("the listener", () => {
  const get = "GET /first HTTP/1.1\r\nHost: h\r\n";

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
      const ending = new AbortController();
      // Each waits again after its turn: many turns pass during a handshake.
      const turns = Array.from({ length: 20_000 }, async () => {
        while (!ending.signal.aborted) await others.turn();
      });
      let parsed = 0;
      const count = (): void => void parsed++;
      subscribe("http.server.request.start", count);
      assert.deepEqual(statusesOf(await sendRaw(port, `${get}\r\n`.repeat(100))), []);
      unsubscribe("http.server.request.start", count);
      assert.equal(parsed, 2);
      assert.deepEqual(statusesOf(await sendRaw(port, `${get}Connection: close\r\n\r\n`)), ["200"]);
      assert.ok(!others.hasRoom);
      ending.abort();
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
});
