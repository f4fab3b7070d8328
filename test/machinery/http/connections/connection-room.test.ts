import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { ConnectionRoom } from "../../../../src/machinery/http/connections/connection-room.ts";
import type { Loss } from "../../../../src/machinery/http/connections/connection-room.ts";

/** The part of a connection that the room uses. */
const connectionOf = (remoteAddress: string): Socket => {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
  return socket;
};

const destroyed = (sockets: readonly Socket[]): boolean[] => sockets.map((socket) => socket.destroyed);

describe("room for connections", () => {
  it("ends the oldest for each new one, also of several that come before any of them has closed", () => {
    const room = new ConnectionRoom({ limits: { connections: 2, connectionsPerAddress: 2 } });
    const sockets = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"].map(connectionOf);
    for (const socket of sockets) assert.ok(room.admit(socket));
    assert.deepEqual(destroyed(sockets), [true, true, true, false, false]);
    assert.deepEqual([...room.sockets], sockets.slice(3));
    room.clear();
    assert.ok(sockets.every((socket) => socket.destroyed));
  });

  it("of an address ends the oldest of that address alone, which counts until it is closed", () => {
    const room = new ConnectionRoom({ limits: { connections: 10, connectionsPerAddress: 2 } });
    const other = connectionOf("10.0.0.2");
    const ofAddress = Array.from({ length: 5 }, () => connectionOf("10.0.0.1"));
    const [one = assert.fail(), two = assert.fail(), three = assert.fail(), ...later] = ofAddress;
    for (const socket of [other, one, two, three]) assert.ok(room.admit(socket));
    assert.deepEqual(destroyed([other, one, two, three]), [false, true, false, false]);
    two.emit("close");
    for (const socket of later) assert.ok(room.admit(socket));
    assert.deepEqual(destroyed([other, two, three, ...later]), [false, false, true, false, false]);
  });

  it("ends a connection whose client loses least, and takes no other where each would lose everything", () => {
    const losses = new Map<Socket, Loss>();
    const lossOf = (socket: Socket): Loss => losses.get(socket) ?? "nothing";
    const taken: Socket[] = [];
    const limits = { connections: 4, connectionsPerAddress: 4 };
    const room = new ConnectionRoom({ limits, lossOf, onEnded: (socket) => taken.push(socket) });
    const sockets = (["everything", "much", "little", "nothing"] as const).map((loss) => {
      const socket = connectionOf("10.0.0.1");
      losses.set(socket, loss);
      assert.ok(room.admit(socket));
      return socket;
    });
    const ended = [3, 2, 1].map((index) => {
      const socket = connectionOf("10.0.0.1");
      losses.set(socket, "everything");
      assert.ok(room.admit(socket));
      return [index, destroyed(sockets), taken.at(-1) === socket];
    });
    assert.deepEqual(ended, [
      [3, [false, false, false, true], true],
      [2, [false, false, true, true], true],
      [1, [false, true, true, true], true],
    ]);
    assert.equal(room.admit(connectionOf("10.0.0.1")), false);
    assert.equal(room.sockets.size, 4);
  });

  it("looks at those that it has not looked at before, where the first hundred end for no other", () => {
    const lasting = new Set(Array.from({ length: 150 }, () => connectionOf("10.0.0.1")));
    const lossOf = (socket: Socket): Loss => (lasting.has(socket) ? "everything" : "nothing");
    const room = new ConnectionRoom({ limits: { connections: 151, connectionsPerAddress: 151 }, lossOf });
    for (const socket of lasting) room.admit(socket);
    const idle = connectionOf("10.0.0.1");
    room.admit(idle);
    assert.equal(room.admit(connectionOf("10.0.0.1")), false);
    assert.equal(room.admit(connectionOf("10.0.0.1")), true);
    assert.ok(idle.destroyed);
  });
});
