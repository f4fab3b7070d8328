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
