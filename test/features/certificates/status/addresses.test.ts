import assert from "node:assert/strict";
import { it } from "node:test";
import { shardOf } from "../../../../src/features/certificates/status/addresses.ts";

it("a certificate stays in its part of the list: it holds the address", () => {
  // The first digits of what sha256sum says of the serial number's octets.
  for (const [serialNumber, shard] of [
    ["010203", "0"],
    ["00010203", "0"],
    ["7f0102030405060708090a0b0c0d0e0f10111213", "1"],
    ["00ff", "a"],
    ["ff", "a"],
    ["01", "4"],
    ["0000", "6"],
    ["00", "6"],
  ] as const) {
    assert.equal(shardOf(Buffer.from(serialNumber, "hex")), shard, serialNumber);
  }
});
