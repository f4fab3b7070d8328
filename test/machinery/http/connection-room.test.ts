import assert from "node:assert/strict";
import { Socket } from "node:net";
import { it } from "node:test";
import { ConnectionRoom } from "../../../src/machinery/http/connection-room.ts";

it("room for connections ends the oldest for each new one, also of several that come before any of them has closed", () => {
  const room = new ConnectionRoom(2);
  const sockets = Array.from({ length: 5 }, () => new Socket());
  for (const socket of sockets) room.add(socket);
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    [true, true, true, false, false],
  );
  room.clear();
  assert.ok(sockets.every(({ destroyed }) => destroyed));
});
