import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatIpAddress, isInIpRange, parseIpAddress, parseIpRange } from "../../../src/pki/names/ip-address.ts";

describe("IP addresses", () => {
  it("keep their octets through text", () => {
    const octets = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    );
    fc.assert(
      fc.property(octets, (address) => {
        assert.deepEqual([...(parseIpAddress(formatIpAddress(address)) ?? [])], [...address]);
      }),
    );
  });

  it("are formatted according to RFC 5952, IPv4-mapped ones as IPv4", () => {
    for (const text of ["::", "::1", "1::", "fe80::1:0:0:1", "1:2:3:4:5:6:7:8", "2001:db8::1:1:1:1:1"]) {
      const expected = text === "2001:db8::1:1:1:1:1" ? "2001:db8:0:1:1:1:1:1" : text;
      assert.equal(formatIpAddress(parseIpAddress(text) ?? Buffer.alloc(16)), expected);
    }
    assert.deepEqual(parseIpAddress("::ffff:10.0.0.1"), parseIpAddress("10.0.0.1"));
    assert.equal(formatIpAddress(Buffer.from("00000000000000000000ffff0a000001", "hex")), "10.0.0.1");
    for (const text of ["::ff00:a00:1", "::ff:a00:1"]) assert.equal(parseIpAddress(text)?.length, 16, text);
  });

  it("are refused when they are malformed", () => {
    for (const text of [
      "",
      "1.2.3",
      "01.2.3.4",
      "1.2.3.256",
      "1::2::3",
      "1:2:3:4:5:6:7",
      "::1%eth0",
      "12345::",
      "1.2.3.4::",
      "::1.2.3.4:5",
    ]) {
      assert.equal(parseIpAddress(text), undefined, text);
    }
  });

  it("lie in ranges of their own family", () => {
    const isIn = (address: string, range: string): boolean => {
      const parsed = parseIpRange(range);
      const octets = parseIpAddress(address);
      assert.ok(parsed !== undefined && octets !== undefined);
      return isInIpRange(octets, parsed);
    };
    assert.ok(isIn("10.1.2.3", "10.0.0.0/8") && isIn("10.1.2.3", "0.0.0.0/0") && isIn("10.1.2.3", "10.1.2.3"));
    assert.ok(isIn("10.0.0.127", "10.0.0.0/25") && !isIn("10.0.0.128", "10.0.0.0/25"));
    assert.ok(!isIn("fd00::1", "0.0.0.0/0") && isIn("fd00::1", "fc00::/7"));
    for (const range of ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "x/8"])
      assert.equal(parseIpRange(range), undefined);
  });
});
