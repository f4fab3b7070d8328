import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { PipelinedRequests } from "../../../../../src/machinery/http/connections/http1/pipelined-requests.ts";

function socketFrom(address: string, port = 1024): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  Object.defineProperty(socket, "remotePort", { value: port });
  return socket;
}

describe("pipelined requests", () => {
  it("keep their connection from being read until all have had their turn", async () => {
    const socket = socketFrom("192.0.2.1");
    const requests = new PipelinedRequests(socket);
    const turns = [requests.turn(), requests.turn()];
    assert.ok(socket.isPaused());
    socket.resume();
    await turns[0];
    assert.ok(socket.isPaused());
    await turns[1];
    assert.ok(!socket.isPaused());
  });

  it("leave a connection paused of which Node.js reads no more", async () => {
    const socket = Object.assign(socketFrom("192.0.2.1"), { _paused: true });
    await new PipelinedRequests(socket).turn();
    assert.ok(socket.isPaused());
  });

  it("of one address leave room to those of others", async () => {
    const [many, other] = ["192.0.2.1", "192.0.2.2"].map((address) => new PipelinedRequests(socketFrom(address)));
    assert.ok(many && other);
    const turns: Promise<void>[] = [];
    while (many.hasRoom) turns.push(many.turn());
    assert.ok(turns.length > 1000 && other.hasRoom);
    await Promise.all(turns);
    assert.ok(many.hasRoom);
  });

  it("of one connection leave room to the others of its address, and take turns with theirs", async () => {
    const [many, other] = [1024, 1025].map((port) => new PipelinedRequests(socketFrom("192.0.2.1", port)));
    assert.ok(many && other);
    const order: string[] = [];
    const turns: Promise<unknown>[] = [];
    while (many.hasRoom) turns.push(many.turn().then(() => order.push("many")));
    assert.ok(other.hasRoom);
    await other.turn();
    assert.deepEqual(order, ["many"]);
    await Promise.all(turns);
  });

  it("of addresses that one client may have take turns as one", async () => {
    const order: string[] = [];
    await Promise.all(
      ["2001:db8::1", "2001:db8::2", "192.0.2.1"].map(async (address) => {
        await new PipelinedRequests(socketFrom(address)).turn();
        order.push(address);
      }),
    );
    assert.deepEqual(order, ["2001:db8::1", "192.0.2.1", "2001:db8::2"]);
  });
});
