import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HandshakeTurns } from "../../../../src/machinery/http/connections/handshake-turns.ts";

function socketFrom(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return socket;
}

const newTurns = (): HandshakeTurns => new HandshakeTurns({ secondsForFirstBytes: 15 });

const socketsFrom = (address: string, count: number): Socket[] =>
  Array.from({ length: count }, () => socketFrom(address));

const turn = async (t: TestContext, milliseconds = 1): Promise<void> => {
  t.mock.timers.tick(milliseconds);
  for (let immediates = 0; immediates < 4; immediates++) await nextTurn();
};

interface ReadHandshake {
  readonly socket: Socket;
  readonly port: number;
  readonly turns: HandshakeTurns;
}

interface BegunHandshakes {
  readonly turns: HandshakeTurns;
  readonly sockets: readonly Socket[];
  /** The ports of those that were read, in this order. */
  readonly read: number[];
  /** The ports of those that are read. */
  readonly reading: ReadonlySet<number>;
  /** As many as were ever read at once. */
  readonly most: () => number;
  /** Begins another one, and resolves with its port. */
  readonly add: (address: string) => Promise<number>;
}

/** Begins handshakes, in a test that moves the clock. Each client has a port of its own. */
async function begunHandshakes(
  t: TestContext,
  {
    addresses,
    onRead = () => {},
  }: { readonly addresses: readonly string[]; readonly onRead?: (read: ReadHandshake) => void },
): Promise<BegunHandshakes> {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const turns = newTurns();
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const read: number[] = [];
  const reading = new Set<number>();
  let most = 0;
  const add = async (address: string): Promise<number> => {
    const socket = socketFrom(address);
    const port = 1024 + sockets.push(socket) - 1;
    let hasBegun = false;
    const handle = {
      readStart: () => {
        // Its first bytes are read before.
        if (!hasBegun || reading.has(port)) return;
        read.push(port);
        most = Math.max(most, reading.add(port).size);
        onRead({ socket, port, turns });
      },
      readStop: () => reading.delete(port),
      close: (done?: () => void) => done?.(),
    };
    Object.defineProperty(socket, "remotePort", { value: port });
    Object.defineProperty(socket, "_handle", { value: handle, writable: true });
    const begun = Promise.withResolvers<void>();
    turns.add(socket, () => {
      hasBegun = true;
      begun.resolve();
    });
    socket.push("hello");
    await begun.promise;
    return port;
  };
  await Promise.all(addresses.map(add));
  return { turns, sockets, read, reading, most: () => most, add };
}

describe("the handshakes of new connections", () => {
  it("begin when their first bytes have come, sixteen in each turn of the event loop", async (t) => {
    const handshakes = newTurns();
    const sockets = socketsFrom("192.0.2.1", 40);
    const begun: Socket[] = [];
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    t.mock.method(performance, "now", () => 0);
    for (const socket of sockets) handshakes.add(socket, () => begun.push(socket));
    await nextTurn();
    assert.equal(begun.length, 0);
    for (const socket of sockets) socket.push("hello");
    while (begun.length === 0) await nextTurn();
    const counts = new Set([begun.length]);
    while (begun.length < 40) {
      await nextTurn();
      counts.add(begun.length);
    }
    assert.deepEqual([...counts], [16, 32, 40]);
    assert.ok(sockets.every((socket) => socket.readableLength === 5));
  });

  it("of one address do not delay those of another", async (t) => {
    const handshakes = newTurns();
    const sockets = [...socketsFrom("192.0.2.1", 40), socketFrom("192.0.2.2")];
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    t.mock.method(performance, "now", () => 0);
    const begun: (string | undefined)[] = [];
    for (const socket of sockets) handshakes.add(socket, () => begun.push(socket.remoteAddress));
    for (const socket of sockets) socket.push("hello");
    while (begun.length < 41) await nextTurn();
    assert.ok(begun.slice(0, 18).includes("192.0.2.2"), begun.join(" "));
  });

  it("give those who have connections as much time when chains that came with their first bytes have taken long", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let now = 0;
    t.mock.method(performance, "now", () => now);
    const handshakes = newTurns();
    const sockets = socketsFrom("192.0.2.1", 3);
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    let begun = 0;
    for (const socket of sockets) {
      // Node.js reads the first bytes later.
      handshakes.add(socket, () => process.nextTick(() => (now += 140) && begun++));
      socket.push("hello");
    }
    await turn(t);
    assert.equal(begun, 1);
    await turn(t, 138);
    assert.equal(begun, 1);
    await turn(t, 2);
    assert.equal(begun, 2);
  });

  it("do not begin on connections that end or fail before", async () => {
    const handshakes = newTurns();
    const [ended, failed] = socketsFrom("192.0.2.1", 2);
    assert.ok(ended && failed);
    for (const socket of [ended, failed]) handshakes.add(socket, () => assert.fail("the handshake has begun"));
    ended.push(null);
    failed.emit("error", new Error("reset"));
    while (!ended.destroyed || !failed.destroyed) await nextTurn();
  });

  it("do not begin on connections that close while they wait for their turn", async (t) => {
    const handshakes = newTurns();
    const sockets = socketsFrom("192.0.2.1", 17);
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    t.mock.method(performance, "now", () => 0);
    const begun: Socket[] = [];
    for (const socket of sockets) {
      handshakes.add(socket, () => begun.push(socket));
      socket.push("hello");
    }
    while (begun.length === 0) await nextTurn();
    assert.equal(begun.length, 16);
    sockets.at(-1)?.destroy();
    for (let immediates = 0; immediates < 6; immediates++) await nextTurn();
    assert.equal(begun.length, 16);
  });

  it("leave the time and the failures of their connections to what comes after them", async () => {
    const socket = socketFrom("192.0.2.1");
    const begin = Promise.withResolvers<void>();
    newTurns().add(socket, begin.resolve);
    socket.push("hello");
    await begin.promise;
    assert.deepEqual([socket.timeout, socket.listenerCount("timeout"), socket.listenerCount("error")], [0, 0, 0]);
    socket.destroy();
  });

  it("do not begin on connections that send nothing in time", () => {
    const socket = socketFrom("192.0.2.1");
    newTurns().add(socket, () => assert.fail("the handshake has begun"));
    assert.equal(socket.timeout, 15_000);
    socket.emit("timeout");
    assert.ok(socket.destroyed);
  });

  describe("that have begun", () => {
    const same = (count: number): string[] => Array.from({ length: count }, () => "192.0.2.1");

    it("are read two in each turn of the event loop", async (t) => {
      t.mock.method(performance, "now", () => 0);
      const { read, most } = await begunHandshakes(t, { addresses: same(5) });
      while (read.length < 10) await turn(t);
      assert.deepEqual(read.slice(0, 10), [1024, 1025, 1026, 1027, 1028, 1024, 1025, 1026, 1027, 1028]);
      assert.equal(most(), 2);
    });

    it("of one address do not delay those of another", async (t) => {
      t.mock.method(performance, "now", () => 0);
      const { read } = await begunHandshakes(t, { addresses: [...same(40), "192.0.2.2"] });
      while (read.length < 4) await turn(t);
      assert.ok(read.slice(0, 4).includes(1064), read.join(" "));
    });

    it("are read as it comes when they have ended", async (t) => {
      t.mock.method(performance, "now", () => 0);
      const { read, reading } = await begunHandshakes(t, {
        addresses: same(5),
        // Node.js reads what has come before the turn ends.
        onRead: ({ socket, port, turns }) => port < 1028 && setImmediate(() => turns.hasEnded(socket)),
      });
      for (let turns = 0; turns < 5; turns++) await turn(t);
      assert.deepEqual(read.slice(0, 5), [1024, 1025, 1026, 1027, 1028]);
      assert.ok([1024, 1025, 1026, 1027].every((port) => reading.has(port)));
      assert.ok(read.slice(5).every((port) => port === 1028));
    });

    it("are read as it comes when they end while they are not read", async (t) => {
      t.mock.method(performance, "now", () => 0);
      const { sockets, reading, turns } = await begunHandshakes(t, { addresses: same(1) });
      await turn(t);
      assert.deepEqual([...reading], []);
      for (const socket of sockets) turns.hasEnded(socket);
      for (let turnsGiven = 0; turnsGiven < 3; turnsGiven++) await turn(t);
      assert.deepEqual([...reading], [1024]);
    });

    it("are told from others of the same client's end by the server's address", async (t) => {
      t.mock.method(performance, "now", () => 0);
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const turns = newTurns();
      const read: number[] = [];
      const sockets = socketsFrom("192.0.2.1", 2);
      t.after(() => sockets.forEach((socket) => socket.destroy()));
      for (const [index, socket] of sockets.entries()) {
        let hasBegun = false;
        const handle = {
          readStart: () => hasBegun && read.push(index),
          readStop: () => {},
          close: (done?: () => void) => done?.(),
        };
        Object.defineProperty(socket, "_handle", { value: handle, writable: true });
        Object.defineProperty(socket, "localAddress", { value: `198.51.100.${index}` });
        turns.add(socket, () => (hasBegun = true));
        socket.push("hello");
      }
      while (read.length < 6) await turn(t);
      assert.deepEqual(read.slice(0, 6), [0, 1, 0, 1, 0, 1]);
    });

    it("are paused by what the sockets of this Node.js have", async (t) => {
      const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
      const [socket] = (await once(server, "connection")) as [Socket];
      t.after(() => [server.close(), client.destroy(), socket.destroy()]);
      const handle: unknown = Reflect.get(socket, "_handle");
      for (const name of ["readStart", "readStop"] as const) {
        t.mock.method(handle as Record<typeof name, () => void>, name);
      }
      const { readStart, readStop } = handle as Record<"readStart" | "readStop", { mock: { callCount: () => number } }>;
      const turns = newTurns();
      turns.add(socket, () => {});
      client.write("hello");
      while (readStop.mock.callCount() < 2) await nextTurn();
      assert.ok(readStart.mock.callCount() >= 2);
    });

    it("are read again after an eighth of the time that they have taken", async (t) => {
      let now = 0;
      t.mock.method(performance, "now", () => now);
      const { read } = await begunHandshakes(t, { addresses: same(1) });
      await turn(t);
      const timers = t.mock.method(globalThis, "setTimeout");
      const readAt: number[] = [];
      for (now = 1; now <= 1500; now++) {
        const { length } = read;
        await turn(t);
        if (read.length > length) readAt.push(now);
      }
      const pauses = readAt.slice(1).map((at, index) => at - (readAt[index] ?? 0));
      assert.ok(readAt.length < 60, `${readAt.length}`);
      assert.ok(
        pauses.every((pause, index) => pause <= (readAt[index] ?? 0) / 8 + 2),
        pauses.join(" "),
      );
      // Nothing else wakes the process.
      assert.equal(timers.mock.callCount(), readAt.length);
    });

    it("do not delay those of the same address while their clients send nothing", async (t) => {
      let now = 0;
      t.mock.method(performance, "now", () => now);
      const { read, add } = await begunHandshakes(t, { addresses: same(200) });
      for (now = 1; now < 5000; now += 100) await turn(t, 100);
      read.length = 0;
      const port = await add("192.0.2.1");
      await turn(t);
      assert.ok(read.includes(port), read.join(" "));
    });

    it("take no more turns when none is left", async (t) => {
      const { sockets } = await begunHandshakes(t, { addresses: same(3) });
      await turn(t);
      for (const socket of sockets) socket.destroy();
      for (let turns = 0; turns < 3; turns++) await turn(t);
      const timers = t.mock.method(globalThis, "setTimeout");
      for (let turns = 0; turns < 3; turns++) await turn(t);
      assert.equal(timers.mock.callCount(), 0);
    });

    it("leave as much time to others as a long turn has taken", async (t) => {
      let now = 0;
      t.mock.method(performance, "now", () => now);
      const { read } = await begunHandshakes(t, {
        addresses: same(4),
        // In the time in which Node.js reads.
        onRead: ({ port }) => port === 1025 && setImmediate(() => void (now += 140)),
      });
      await turn(t);
      await turn(t, 139);
      assert.deepEqual(read, [1024, 1025]);
      await turn(t, 1);
      assert.deepEqual(read.slice(2, 4), [1026, 1027]);
    });
  });
});
