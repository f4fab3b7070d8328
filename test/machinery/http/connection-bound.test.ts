import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { addressKey, ConnectionBound } from "../../../src/machinery/http/connection-bound.ts";
import { connectionLimit } from "../../../src/server/open-file-limit.ts";

/** The part of a connection that the limit uses. */
const connectionOf = (remoteAddress: string): Socket => {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
  return socket;
};

const close = (socket: EventEmitter): void => void socket.emit("close");

describe("the bound on connections", () => {
  it("counts all and those of each address, and forgets the closed ones", () => {
    const bound = new ConnectionBound({ connections: 3, connectionsPerAddress: 2 });
    const [one, two, three] = [connectionOf("10.0.0.1"), connectionOf("10.0.0.1"), connectionOf("10.0.0.2")];
    assert.deepEqual(
      [one, two].map((socket) => bound.admits(socket)),
      [true, true],
    );
    assert.equal(bound.admits(connectionOf("10.0.0.1")), false);
    assert.equal(bound.admits(three), true);
    assert.equal(bound.admits(connectionOf("10.0.0.3")), false);
    close(one);
    assert.equal(bound.admits(connectionOf("10.0.0.1")), true);
    close(two);
    assert.equal(bound.admits(connectionOf("10.0.0.1")), true);
    assert.equal(bound.admits(connectionOf("10.0.0.1")), false);
    close(three);
    assert.equal(bound.admits(connectionOf("10.0.0.3")), true);
  });

  it("counts an IPv6 /64 as one address, and an IPv4-mapped address as IPv4", () => {
    assert.equal(addressKey("2001:db8:1:2::5"), addressKey("2001:db8:1:2:ffff::1"));
    assert.notEqual(addressKey("2001:db8:1:2::5"), addressKey("2001:db8:1:3::5"));
    assert.equal(addressKey("2001:db8:1:2:3:4:5:6"), addressKey("2001:db8:1:2::"));
    assert.equal(addressKey("2001::1:2:3:4:5:6"), "2001:0:1:2");
    for (const address of ["10.0.0.1", "::ffff:10.0.0.1"]) assert.equal(addressKey(address), "10.0.0.1");
    assert.equal(addressKey("::1"), "0:0:0:0");
    assert.equal(addressKey("fe80::1%eth0"), "fe80:0:0:0");
  });

  it("leaves file descriptors for everything else", () => {
    assert.equal(connectionLimit(10_000, Number.POSITIVE_INFINITY), 10_000);
    assert.equal(connectionLimit(10_000, 1_048_576), 10_000);
    assert.equal(connectionLimit(10_000, 1024), 768);
    assert.equal(connectionLimit(10_000, 128), 64);
    assert.equal(connectionLimit(10_000, 64), 1);
  });
});
