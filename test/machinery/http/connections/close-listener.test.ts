import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { Handler, HttpRequest } from "../../../../src/machinery/api/http-message.ts";
import { clientPreface, settingIds } from "../../../../src/machinery/http2/protocol.ts";
import { encodeFrame, get as getFrame, settings, windowUpdate } from "../../http2/frame-client.ts";
import { ManualTime } from "../../../manual-time.ts";
import { protocols } from "../leaving-client.ts";
import {
  newListener,
  openHttp2,
  openTls,
  openTlsOrFail,
  sendHttp1,
  sendHttp2,
  statusesOf,
  text,
} from "./listener-scene.ts";

describe("the listener", () => {
  for (const protocol of protocols) {
    it(`ends a watch over ${protocol} that begins while it closes`, async () => {
      const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const handler: Handler = async () => {
        entered.resolve();
        await release.promise;
        return { status: 200, headers: {}, body: { start: (sink) => (sink.write(Buffer.from("event")), () => {}) } };
      };
      const listener = newListener({ handler });
      const port = await listener.listen({ host: "127.0.0.1", port: 0 });
      const session = openHttp2(port);
      const answering = protocol === "HTTP/2" ? sendHttp2(session, { path: "/" }) : sendHttp1(port, { path: "/" });
      await entered.promise;
      const closing = listener.close({ graceMilliseconds: 10_000 });
      release.resolve();
      assert.equal((await answering).body, "event");
      session.destroy();
      await closing;
    });
  }

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

  it("gives a client whose handshake ended while it closes a second for its request", async () => {
    const time = new ManualTime();
    const listener = newListener({ schedule: time.schedule });
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const late = connectTcp(port, "127.0.0.1");
    await once(late, "connect");
    await sendHttp1(port, { path: "/" }); // connections are accepted in their order
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    await turn();
    await turn();
    time.pass(999);
    const socket = connectTls({ socket: late, rejectUnauthorized: false, maxVersion: "TLSv1.2" });
    await once(socket, "secureConnect");
    time.pass(999);
    await turn();
    socket.write(keepAliveGet);
    const isClosed = once(socket, "close").then(() => "closed");
    assert.match(String(await Promise.race([once(socket, "data"), isClosed])), /^HTTP\/1\.1 200 /);
    await closing;
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

  it("answers the request of a client whose connection it has not accepted yet when it closes", async () => {
    const listener = newListener();
    const port = await listener.listen({ host: "127.0.0.1", port: 0 });
    const late = connectTcp(port, "127.0.0.1");
    // Node.js connects in this tick. The kernel completes the connection, and the listener accepts it in the next turn.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const closing = listener.close({ graceMilliseconds: 1_000_000 });
    const socket = connectTls({ socket: late, rejectUnauthorized: false });
    socket.write(keepAliveGet);
    assert.match(String(await once(socket, "data")), /^HTTP\/1\.1 200 /);
    await closing;
  });
});
