import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readUri } from "../../../src/pki/names/uri.ts";

const hostOf = (uri: string): string | undefined => {
  const answer = readUri(uri);
  return answer.isValid ? answer.host : undefined;
};

describe("readUri", () => {
  it("reads what Go's url.Parse reads (its own cases)", () => {
    const good = [
      ["http://foo.com", "foo.com"],
      ["http://foo.com/path?a=%zz", "foo.com"],
      ["/", ""],
      ["*", ""],
      ["", ""],
      ["foo.html", ""],
      ["../dir/", ""],
      ["mailto:joe@example.com", ""],
      ["urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", ""],
      ["//user@foo.com/path", "foo.com"],
      ["//not.a.user@foo.com/just/a/path/also", "foo.com"],
      ["///not/a/host", ""],
      ["spiffe://Example.com/ns/a", "example.com"],
      ["http://192.168.0.1:8080/", "192.168.0.1"],
      ["http://username:p@ssword@google.com:80/", "google.com"],
      ["http://[::1]", "[::1]"],
      ["http://[::1]:80", "[::1]"],
      ["http://[::1]:", "[::1]"],
      ["http://[::1%25en0]", "[::1%25en0]"],
      ["http://[fe80::1%25%65%6e%301-._~]:8080/", "[fe80::1%25%65%6e%301-._~]"],
      ["http://[::1%25%41]", "[::1%25%41]"],
      ["http://[::1%25a.]:80/", "[::1%25a.]"],
      ["http://[::ffff:192.168.0.1]:8080/", "[::ffff:192.168.0.1]"],
      ["http://x:", "x"],
      ["http://[::1]/%48", "[::1]"],
      ["ahttp://foo.com", "foo.com"],
      ["cache_object/:foo/bar", ""],
      ["https://[2001:db8::a:b:c:d]", "[2001:db8::a:b:c:d]"],
      ["http:///path", ""],
    ] as const;
    for (const [uri, host] of good) assert.equal(hostOf(uri), host, uri);
  });

  it("refuses what Go's url.Parse refuses (its own cases)", () => {
    const bad = [
      "http://[::1]:namedport",
      "http://x:namedport",
      "http://[::1]a",
      "http://[::1]%23",
      "http://[::1]:%38%30",
      "http://[%10::1]",
      "http://%41:8080/",
      "mysql://x@y(z:123)/foo",
      "mysql://x@y(1.2.3.4:123)/foo",
      " http://foo.com",
      "ht tp://foo.com",
      "1http://foo.com",
      "http://[]%20%48%54%54%50%2f%31%2e%31%0a%4d%79%48%65%61%64%65%72%3a%20%31%32%33%0a%0a/",
      "http://a b.com/",
      "cache_object://foo",
      "cache_object:foo",
      "cache_object:foo/bar",
      "http://[192.168.0.1]/",
      "http://[::ffff:192.168.0.1000]/",
      "http://[not-an-ip]/",
      "http://[fe80::1%foo]/",
      "http://[fe80::1%25]/",
      "http://[fe80::1",
      "http://fe80::1]/",
      "http://[test.com]/",
      "http://example.com[::1]",
      "http://example.com[::1",
      "http://.[::1]",
      "hxxp://mathepqo[.]serveftp(.)com:9059",
      "http://192.168.0.%31/",
      "http://[fe80::%31%25en0]/",
      "http://[fe80::1%en0]/",
      "https://[:1] ",
      "https://[1:2:3:4:5:6:7:8:9]",
      "https://[1::1::1]",
      "https://1:2:3:4:5:6:7:8",
      "https://example.com:80:",
      "http://%zz/",
      "http://a/%zzzzz",
      "http://a/#%",
      "%zzzzz",
      ":path",
      "http://us\\er:pass@foo.com/",
      "http://a\nb/",
      "http://a\0.example.com/",
      "http://a/\x7f",
      "http://a/b c",
      "http://a/ä",
      "urn:a b",
      "http://.example.com/",
      "http://example.com./",
      "http://a..b/",
      "http://münchen.de/",
      "http://%e4.de/",
      "http://[fe80::1%25a%20b]/",
      "http://[fe80::1%25a..b]/",
      "http://[fe80::1%25a%2e%2eb]/",
    ];
    for (const uri of bad) assert.equal(hostOf(uri), undefined, JSON.stringify(uri));
  });

  it("never throws, and never returns a host that the text does not contain", () => {
    const texts = fc.string({ unit: fc.constantFrom(..."ab.:/@?#[]%25*- \0é".split("")), maxLength: 30 });
    fc.assert(
      fc.property(texts, (text) => {
        const host = hostOf(text);
        if (host !== undefined) assert.ok(text.toLowerCase().includes(host));
      }),
    );
  });
});
