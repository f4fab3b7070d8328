import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HandshakeTurns } from "../../../src/machinery/http/handshake-turns.ts";

function socketFrom(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return socket;
}

const socketsFrom = (address: string, count: number): Socket[] =>
  Array.from({ length: count }, () => socketFrom(address));

/** A connection whose handshake has begun, and of which a test sees whether it is read. */
interface BegunHandshake {
  readonly socket: Socket;
  readonly handle: { isRead: boolean };
}

/** Begins handshakes, in a test that moves the clock. Each client has a port of its own. */
async function begunHandshakes(
  t: TestContext,
  { addresses, now = () => 0 }: { readonly addresses: readonly string[]; readonly now?: () => number },
): Promise<{ readonly turns: HandshakeTurns; readonly handshakes: readonly BegunHandshake[] }> {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", now);
  const turns = new HandshakeTurns({ secondsForFirstBytes: 15 });
  const begun: BegunHandshake[] = [];
  t.after(() => begun.forEach(({ socket }) => socket.destroy()));
  for (const [index, address] of addresses.entries()) {
    const socket = socketFrom(address);
    const handle = {
      isRead: true,
      readStart: () => void (handle.isRead = true),
      readStop: () => void (handle.isRead = false),
      close: (done?: () => void) => done?.(),
    };
    Object.defineProperty(socket, "remotePort", { value: 1024 + index });
    Object.defineProperty(socket, "_handle", { value: handle, writable: true });
    turns.add(socket, () => begun.push({ socket, handle }));
    socket.push("hello");
  }
  while (begun.length < addresses.length) await nextTurn();
  return { turns, handshakes: begun };
}

const portsOfRead = (handshakes: readonly BegunHandshake[]): (number | undefined)[] =>
  handshakes.filter(({ handle }) => handle.isRead).map(({ socket }) => socket.remotePort);

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

  describe("that have begun", () => {
    const same = (count: number): string[] => Array.from({ length: count }, () => "192.0.2.1");

    it("are read as it comes while no more than two are under way", async (t) => {
      const { handshakes } = await begunHandshakes(t, { addresses: same(2) });
      await nextTurn();
      assert.deepEqual(portsOfRead(handshakes), [1024, 1025]);
    });

    it("are read two in each turn of the event loop when more are under way", async (t) => {
      const { handshakes } = await begunHandshakes(t, { addresses: same(5) });
      const read: (number | undefined)[][] = [];
      for (let turn = 0; turn < 5; turn++) {
        await nextTurn();
        read.push(portsOfRead(handshakes));
        t.mock.timers.tick(1);
      }
      assert.deepEqual(read, [
        [1024, 1025],
        [1026, 1027],
        [1024, 1028],
        [1025, 1026],
        [1027, 1028],
      ]);
    });

    it("of one address do not delay those of another", async (t) => {
      const { handshakes } = await begunHandshakes(t, { addresses: [...same(40), "192.0.2.2"] });
      await nextTurn();
      t.mock.timers.tick(1);
      assert.ok(portsOfRead(handshakes).includes(1064), portsOfRead(handshakes).join(" "));
    });

    it("are read as it comes when they have ended, and make room for others", async (t) => {
      const { turns, handshakes } = await begunHandshakes(t, { addresses: same(5) });
      await nextTurn();
      const [first, second, third] = handshakes;
      assert.ok(first && second && third);
      for (const { socket } of [first, third]) turns.hasEnded(socket);
      second.socket.destroy();
      for (let turn = 0; turn < 3; turn++) {
        await nextTurn();
        t.mock.timers.tick(1);
      }
      assert.deepEqual(portsOfRead(handshakes.filter((each) => each !== second)), [1024, 1026, 1027, 1028]);
    });

    it("get the next turn at once when one has ended", async (t) => {
      const { turns, handshakes } = await begunHandshakes(t, { addresses: same(7) });
      t.mock.timers.tick(1);
      const [, , third] = handshakes;
      assert.ok(third);
      turns.hasEnded(third.socket);
      await nextTurn();
      await nextTurn();
      assert.deepEqual(portsOfRead(handshakes), [1026, 1028, 1029]);
    });

    it("take no more turns when no more than two are left", async (t) => {
      const { handshakes } = await begunHandshakes(t, { addresses: same(3) });
      const timers = t.mock.method(globalThis, "setTimeout");
      handshakes[0]?.socket.destroy();
      for (let turn = 0; turn < 3; turn++) {
        await nextTurn();
        t.mock.timers.tick(1);
      }
      assert.deepEqual(portsOfRead(handshakes.slice(1)), [1025, 1026]);
      assert.equal(timers.mock.callCount(), 0);
    });

    it("leave as much time to others as a long turn has taken", async (t) => {
      let now = 0;
      const { handshakes } = await begunHandshakes(t, { addresses: same(4), now: () => now });
      await nextTurn();
      t.mock.timers.tick(1);
      assert.deepEqual(portsOfRead(handshakes), [1026, 1027]);
      now = 140;
      await nextTurn();
      t.mock.timers.tick(139);
      assert.deepEqual(portsOfRead(handshakes), [1026, 1027]);
      t.mock.timers.tick(1);
      assert.deepEqual(portsOfRead(handshakes), [1024, 1025]);
    });
  });
});
