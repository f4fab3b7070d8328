import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { encodeElement, encodeObjectIdentifier, encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import {
  encodeDistinguishedName,
  formatDistinguishedName,
  isFormattedDistinguishedName,
  parseDistinguishedName,
} from "../../../src/pki/names/distinguished-name.ts";
import { formatIpAddress, isInIpRange, parseIpAddress, parseIpRange } from "../../../src/pki/names/ip-address.ts";
import {
  encodeSubjectAltNames,
  noSubjectAltNames,
  parseSubjectAltNames,
} from "../../../src/pki/names/subject-alt-names.ts";

describe("a distinguished name", () => {
  it("is read as it was written", () => {
    const text = fc.string({ minLength: 1, maxLength: 20, unit: "binary" }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(text, fc.uniqueArray(text, { maxLength: 4 }), (commonName, organizations) => {
        const name = parseDistinguishedName(encodeDistinguishedName({ commonName, organizations }));
        assert.equal(name.commonName, commonName);
        assert.deepEqual(name.organizations.toSorted(), organizations.toSorted());
      }),
    );
  });

  it("has at most a thousand attributes", () => {
    const units = (count: number): string[] => Array.from({ length: count }, (_, index) => `u${index}`);
    const parsed = (count: number) =>
      parseDistinguishedName(encodeDistinguishedName({ organizationalUnits: units(count) })).organizationalUnits.length;
    assert.equal(parsed(1000), 1000);
    assert.throws(() => parsed(1001), /^PkiError: x509: too many attributes in a name$/);
  });

  it("is a sequence of sets that are not empty, of strings in the characters of their types", () => {
    const name = (...values: readonly Buffer[]): Buffer =>
      encodeSequence(
        encodeElement(tags.set, ...values.map((value) => encodeSequence(encodeObjectIdentifier("2.5.4.3"), value))),
      );
    const string = (tag: number, text: string): Buffer => encodeElement(tag, Buffer.from(text, "latin1"));
    assert.throws(() => parseDistinguishedName(encodeElement(tags.set)), /invalid RDNSequence$/);
    assert.throws(() => parseDistinguishedName(name()), /invalid RDNSequence$/);
    for (const [tag, text, type] of [
      [tags.utf8String, "\u00ff", "UTF-8 string"],
      [tags.printableString, "a_b", "PrintableString"],
      [tags.ia5String, "\u0080", "IA5String"],
      [tags.numericString, "1a", "NumericString"],
    ] as const) {
      assert.throws(() => parseDistinguishedName(name(string(tag, text))), new RegExp(`invalid ${type}$`));
    }
    assert.throws(() => parseDistinguishedName(name(string(tags.octetString, "a"))), /unsupported string type: 4$/);
    for (const tag of [tags.utf8String, tags.printableString, tags.ia5String, tags.numericString, tags.t61String]) {
      assert.equal(parseDistinguishedName(name(string(tag, "1 2"))).commonName, "1 2");
    }
  });

  it("may have a BMPString of characters of the Basic Multilingual Plane, with a zero at its end, as Go reads it", () => {
    const parsed = (...codes: readonly number[]): string => {
      const text = encodeElement(tags.bmpString, Buffer.from(codes.flatMap((code) => [code >> 8, code & 0xff])));
      const attribute = encodeSequence(encodeObjectIdentifier("2.5.4.3"), text);
      return parseDistinguishedName(encodeSequence(encodeElement(tags.set, attribute))).commonName;
    };
    assert.equal(parsed(0x41, 0x20ac, 0xd7ff, 0xe000, 0xfdcf, 0xfdf0, 0xfffd), "A\u20ac\ud7ff\ue000\ufdcf\ufdf0\ufffd");
    assert.equal(parsed(0x41, 0), "A");
    for (const reserved of [0xd800, 0xdfff, 0xfdd0, 0xfdef, 0xfffe, 0xffff]) {
      assert.throws(() => parsed(0x41, reserved), /invalid BMPString$/, reserved.toString(16));
    }
    const odd = encodeSequence(
      encodeObjectIdentifier("2.5.4.3"),
      encodeElement(tags.bmpString, Buffer.from([0, 0x41, 0])),
    );
    assert.throws(
      () => parseDistinguishedName(encodeSequence(encodeElement(tags.set, odd))),
      /invalid BMPString$|malformed value/,
    );
  });

  it("has its attributes in Go's order, whatever order they came in", () => {
    const encoded = encodeDistinguishedName({
      serialNumber: "8",
      commonName: "7",
      organizationalUnits: ["6"],
      organizations: ["5b", "5a"],
      postalCodes: ["4"],
      streetAddresses: ["3"],
      localities: ["2"],
      provinces: ["1"],
      countries: ["DE"],
    });
    assert.equal(
      formatDistinguishedName({ relativeNames: parseDistinguishedName(encoded).relativeNames.toReversed() }),
      "C=DE,ST=1,L=2,STREET=3,POSTALCODE=4,O=5a+O=5b,OU=6,CN=7,SERIALNUMBER=8",
    );
  });

  it("is formatted according to RFC 4514", () => {
    const encoded = encodeDistinguishedName({ commonName: " a,b+c ", organizations: ["x"], countries: ["DE"] });
    assert.equal(formatDistinguishedName(parseDistinguishedName(encoded)), "CN=\\ a\\,b\\+c\\ ,O=x,C=DE");
  });

  it("is recognized in the form that it is formatted in, whatever characters it has", () => {
    const special = fc.constantFrom(
      " ",
      ",",
      "+",
      "=",
      '"',
      "\\",
      "<",
      ">",
      ";",
      "#",
      "a",
      "0",
      "\u0000",
      "\u009f",
      "\n",
    );
    const character = fc.oneof(special, fc.string({ minLength: 1, maxLength: 1, unit: "binary" }));
    const value = fc.string({ minLength: 1, maxLength: 8, unit: character });
    const type = fc.constantFrom("2.5.4.3", "2.5.4.10", "0.9.2342.19200300.100.1.25", "1.2.840.113549.1.9.1");
    const relativeName = fc.array(fc.record({ type, value }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(relativeName, { maxLength: 4 }), (relativeNames) => {
        assert.ok(isFormattedDistinguishedName(formatDistinguishedName({ relativeNames })));
      }),
    );
  });

  it("is not recognized in another spelling, and other texts are not recognized at all", () => {
    const others = [
      "foo",
      "=foo",
      "foo=bar",
      "cn=ann",
      "CN=ann, O=ops",
      "CN = ann",
      "CN=ann,",
      ",CN=ann",
      "CN=ann,,O=ops",
    ];
    const escapes = [
      "CN=a\\",
      "CN=\\a",
      "CN=a;b",
      "CN=a\nb",
      "CN=a\\0Ab",
      "CN=#61",
      "CN=ann ",
      "CN=a\\ b",
      "2.5.4.3=ann",
    ];
    for (const text of [...others, ...escapes]) assert.equal(isFormattedDistinguishedName(text), false, text);
  });

  it("may be empty", () => {
    assert.equal(formatDistinguishedName(parseDistinguishedName(encodeSequence())), "");
  });
});

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
