import assert from "node:assert/strict";
import { createServer } from "node:https";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { endFailedHandshakes } from "../../../../src/machinery/http/connections/failed-handshakes.ts";

function socketTo(localAddress: string): Socket {
  const socket = new Socket();
  const ends = { remoteAddress: "192.0.2.1", remotePort: 1024, localAddress };
  for (const [name, value] of Object.entries(ends)) Object.defineProperty(socket, name, { value });
  return socket;
}

describe("a client that speaks HTTP without TLS", () => {
  it("is told so, and not another one that has the same address and port at another address of the server", (t) => {
    const server = createServer();
    // Those of Node.js would begin TLS.
    server.removeAllListeners();
    endFailedHandshakes(server);
    const [plain, other] = [socketTo("198.51.100.1"), socketTo("198.51.100.2")];
    const told = t.mock.method(plain, "end", () => plain);
    const otherTold = t.mock.method(other, "end", () => other);
    server.emit("connection", plain);
    server.emit("connection", other);
    const error = Object.assign(new Error("http request"), { code: "ERR_SSL_HTTP_REQUEST" });
    server.emit("tlsClientError", error, socketTo("198.51.100.1"));
    assert.deepEqual([told.mock.callCount(), otherTold.mock.callCount()], [1, 0]);
  });
});
