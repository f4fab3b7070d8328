import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeElement, encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import {
  encodeSubjectAltNames,
  noSubjectAltNames,
  parseSubjectAltNames,
} from "../../../src/pki/names/subject-alt-names.ts";

describe("subject alternative names", () => {
  it("are read as they were written", () => {
    const names = {
      dnsNames: ["a.example.com", "*.b"],
      emailAddresses: ["a@example.com"],
      ipAddresses: ["10.0.0.1", "fd00::1", "::"],
      uris: ["spiffe://example.com/a?b=%20"],
    };
    assert.deepEqual(parseSubjectAltNames(encodeSubjectAltNames(names)), names);
  });

  it("are at most a thousand", () => {
    const dnsNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);
    const parsed = (count: number) =>
      parseSubjectAltNames(encodeSubjectAltNames({ ...noSubjectAltNames, dnsNames: dnsNames(count) })).dnsNames.length;
    assert.equal(parsed(1000), 1000);
    assert.throws(() => parsed(1001), /^PkiError: x509: too many subject alternative names$/);
  });

  it("are refused when their encoding is malformed", () => {
    const parsing =
      (tag: number, ...octets: readonly number[]) =>
      () =>
        parseSubjectAltNames(encodeSequence(encodeElement(tag, Buffer.from(octets))));
    assert.throws(() => parseSubjectAltNames(encodeElement(tags.set)), /invalid subject alternative names$/);
    for (const length of [0, 3, 5, 8, 17]) {
      assert.throws(parsing(0x87, ...Buffer.alloc(length)), new RegExp(`IP address of length ${length}$`));
    }
    for (const [tag, kind] of [
      [0x81, "rfc822Name"],
      [0x82, "dNSName"],
      [0x86, "uniformResourceIdentifier"],
    ] as const) {
      assert.throws(parsing(tag, 0x61, 0x80), new RegExp(`SAN ${kind} is malformed$`));
    }
    assert.throws(parsing(0x86, ...Buffer.from("https://a:b/")), /cannot parse URI "https:\/\/a:b\/": /);
  });

  it("are not written when they are no addresses or no ASCII", () => {
    for (const kind of ["dnsNames", "emailAddresses", "uris"] as const) {
      assert.throws(() => encodeSubjectAltNames({ ...noSubjectAltNames, [kind]: ["é"] }), /cannot be encoded/);
    }
    for (const address of ["", "10.0.0", "a.example.com"]) {
      assert.throws(
        () => encodeSubjectAltNames({ ...noSubjectAltNames, ipAddresses: [address] }),
        /is not an IP address$/,
      );
    }
  });

  it("refuse URIs that cannot be parsed and text that is not ASCII", () => {
    const withUri = (uri: string) => () =>
      parseSubjectAltNames(encodeSubjectAltNames({ dnsNames: [], emailAddresses: [], ipAddresses: [], uris: [uri] }));
    for (const uri of ["http://a b/", "http://a/%zz", "http://a..b/", "http://\u0001/", "http://é/"]) {
      assert.throws(withUri(uri), { name: "PkiError" });
    }
  });
});
