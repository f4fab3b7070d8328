import assert from "node:assert/strict";
import { it } from "node:test";
import { addressKey } from "../../../../src/machinery/api/addresses/address-key.ts";

it("an IPv6 /64 counts as one address, and an IPv4-mapped address as IPv4", () => {
  assert.equal(addressKey("2001:db8:1:2::5"), addressKey("2001:db8:1:2:ffff::1"));
  assert.notEqual(addressKey("2001:db8:1:2::5"), addressKey("2001:db8:1:3::5"));
  assert.equal(addressKey("2001:db8:1:2:3:4:5:6"), addressKey("2001:db8:1:2::"));
  assert.equal(addressKey("2001::1:2:3:4:5:6"), "2001:0:1:2");
  for (const address of ["10.0.0.1", "::ffff:10.0.0.1"]) assert.equal(addressKey(address), "10.0.0.1");
  assert.equal(addressKey("::1"), "0:0:0:0");
  assert.equal(addressKey("fe80::1%eth0"), "fe80:0:0:0");
});
