import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { dnsNameFault, hostNameOf } from "../../../src/pki/names/dns-name.ts";

const plain = (name: string): string | undefined => dnsNameFault(name, { allowsWildcard: false });
const withWildcard = (name: string): string | undefined => dnsNameFault(name, { allowsWildcard: true });

describe("dnsNameFault", () => {
  it("accepts host names, including the xn-- form", () => {
    const longest = ["a", "b", "c"].map((letter) => letter.repeat(63)).join(".") + `.${"d".repeat(61)}`;
    assert.equal(longest.length, 253);
    for (const name of ["a", "node-1", "node-1.example.com", "1a.2b", "xn--mnchen-3ya.de", "0.pool.ntp.org", longest]) {
      assert.equal(plain(name), undefined, name);
      assert.equal(withWildcard(name), undefined, name);
    }
  });

  it("refuses empty labels, dots at the ends, and hyphens at the ends of a label", () => {
    for (const name of ["", ".", "a.", ".a", "a..b", "-a.example", "a-.example", "example.-"]) {
      assert.notEqual(plain(name), undefined, name);
    }
  });

  it("refuses names that programs could read differently", () => {
    const hostile = [
      "bank.com\0.example.com",
      "bank.com .example.com",
      " a.example.com",
      "a.example.com\n",
      "bank.com%00.example.com",
      "bank.com\\.example.com",
      "bank.com/.example.com",
      "bank.com@example.com",
      "a_b.example.com",
      "münchen.de",
      "a。example.com",
      "\u{212a}ubernetes.default",
      "Bank.example.com",
      "10.0.0.1",
      "1",
      "example.0x7f",
      "[::1]",
    ];
    for (const name of hostile) assert.notEqual(withWildcard(name), undefined, JSON.stringify(name));
  });

  it("refuses a label above 63 characters, and a name above 253 for its length before it looks at its labels", () => {
    assert.notEqual(plain(`${"a".repeat(64)}.example`), undefined);
    for (const name of [`${"a.".repeat(126)}aa`, "a..".repeat(1000)]) assert.match(plain(name) ?? "", /at most 253/);
  });

  it("accepts a wildcard only where it is allowed, and only as the whole first label", () => {
    assert.equal(withWildcard("*.example.com"), undefined);
    assert.notEqual(plain("*.example.com"), undefined);
    for (const name of ["*", "*.", "a*.example.com", "*a.example.com", "a.*.com", "*.*.com", "**.example.com"]) {
      assert.notEqual(withWildcard(name), undefined, name);
    }
  });

  it("is not asked about letters beyond ASCII whose lower case is a letter of ASCII", () => {
    for (const name of ["\u{212a}ubernetes.default", "K\u{130}.example"]) {
      assert.equal(hostNameOf(name, { allowsWildcard: false }), undefined, name);
    }
    assert.equal(hostNameOf("K_1.Example", { allowsWildcard: false }), "k_1.example");
  });

  it("agrees with one regular expression on every text", () => {
    const host = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
    const texts = fc.oneof(
      fc.string({ unit: fc.constantFrom(..."ab0-.*_A\0 ".split("")), maxLength: 12 }),
      fc
        .array(fc.string({ unit: fc.constantFrom(..."ab0-".split("")), maxLength: 70 }), { maxLength: 6 })
        .map((all) => all.join(".")),
      fc.domain(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        // Too many last labels start with a digit: the tests above cover them.
        fc.pre(!/(?:^|\.)[0-9][^.]*$/.test(text));
        assert.equal(plain(text) === undefined, host.test(text) && !text.includes("\n"));
      }),
    );
  });
});
