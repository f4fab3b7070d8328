import assert from "node:assert/strict";
import { createServer } from "node:https";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { TLSSocket } from "node:tls";
import { boundKeyUpdates } from "../../../../src/machinery/http/connections/bound-key-updates.ts";

describe("a connection whose client changes its keys", () => {
  it("is closed at its 64th key, and told in the log, whatever other connections do", () => {
    const server = createServer();
    const warnings: unknown[] = [];
    boundKeyUpdates(server, { warn: (fields) => warnings.push(fields) });
    const [socket, other] = [new TLSSocket(new Socket()), new TLSSocket(new Socket())];
    const addKeys = (to: TLSSocket, keys: number): void => {
      for (let key = 0; key < keys; key++) server.emit("keylog", Buffer.alloc(0), to);
    };
    addKeys(socket, 63);
    addKeys(other, 63);
    assert.deepEqual([socket.destroyed, warnings.length], [false, 0]);
    addKeys(socket, 1);
    assert.deepEqual([socket.destroyed, other.destroyed, warnings.length], [true, false, 1]);
  });
});
