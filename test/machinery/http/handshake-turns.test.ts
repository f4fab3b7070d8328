import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HandshakeTurns } from "../../../src/machinery/http/handshake-turns.ts";

function socketFrom(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return socket;
}

const socketsFrom = (address: string, count: number): Socket[] =>
  Array.from({ length: count }, () => socketFrom(address));

describe("the handshakes of new connections", () => {
  it("begin when their first bytes have come, sixteen in each turn of the event loop", async () => {
    const handshakes = new HandshakeTurns({ secondsForFirstBytes: 15 });
    const sockets = socketsFrom("192.0.2.1", 40);
    const begun: Socket[] = [];
    for (const socket of sockets) handshakes.add(socket, () => begun.push(socket));
    await nextTurn();
    assert.equal(begun.length, 0);
    for (const socket of sockets) socket.push("hello");
    const counts = new Set<number>();
    while (begun.length < 40) {
      await nextTurn();
      counts.add(begun.length);
    }
    assert.deepEqual([...counts], [16, 32, 40]);
    assert.ok(sockets.every((socket) => socket.readableLength === 5));
  });

  it("of one address do not delay those of another", async () => {
    const handshakes = new HandshakeTurns({ secondsForFirstBytes: 15 });
    const sockets = [...socketsFrom("192.0.2.1", 40), socketFrom("192.0.2.2")];
    const begun: (string | undefined)[] = [];
    for (const socket of sockets) handshakes.add(socket, () => begun.push(socket.remoteAddress));
    for (const socket of sockets) socket.push("hello");
    while (begun.length < 41) await nextTurn();
    assert.ok(begun.slice(0, 18).includes("192.0.2.2"), begun.join(" "));
  });

  it("do not begin on connections that end or fail before", async () => {
    const handshakes = new HandshakeTurns({ secondsForFirstBytes: 15 });
    const [ended, failed] = socketsFrom("192.0.2.1", 2);
    assert.ok(ended && failed);
    for (const socket of [ended, failed]) handshakes.add(socket, () => assert.fail("the handshake has begun"));
    ended.push(null);
    failed.emit("error", new Error("reset"));
    while (!ended.destroyed || !failed.destroyed) await nextTurn();
  });

  it("do not begin on connections that close while they wait for their turn", async () => {
    const handshakes = new HandshakeTurns({ secondsForFirstBytes: 15 });
    const sockets = socketsFrom("192.0.2.1", 17);
    const begun: Socket[] = [];
    for (const socket of sockets) {
      handshakes.add(socket, () => begun.push(socket));
      socket.push("hello");
    }
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.equal(begun.length, 16);
    sockets.at(-1)?.destroy();
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    assert.equal(begun.length, 16);
  });

  it("leave the time and the failures of their connections to what comes after them", async () => {
    const socket = socketFrom("192.0.2.1");
    const begin = Promise.withResolvers<void>();
    new HandshakeTurns({ secondsForFirstBytes: 15 }).add(socket, begin.resolve);
    socket.push("hello");
    await begin.promise;
    assert.deepEqual([socket.timeout, socket.listenerCount("timeout"), socket.listenerCount("error")], [0, 0, 0]);
  });

  it("do not begin on connections that send nothing in time", () => {
    const socket = socketFrom("192.0.2.1");
    new HandshakeTurns({ secondsForFirstBytes: 15 }).add(socket, () => assert.fail("the handshake has begun"));
    assert.equal(socket.timeout, 15_000);
    socket.emit("timeout");
    assert.ok(socket.destroyed);
  });
});
