import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSmallInteger,
} from "../../../src/pki/der/der-writer.ts";
import { DerReader } from "../../../src/pki/der/der.ts";
import { encodeExtension } from "../../../src/pki/certificates/extension.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { signatureSchemeOf } from "../../../src/pki/keys/sign.ts";

const privateKey = generatePrivateKey("ECDSA P-256");
const { certificate } = createCertificateAuthority({
  subject: { commonName: "ca" },
  privateKey,
  notBefore: Date.UTC(2020, 0, 1),
  notAfter: Date.UTC(2021, 0, 1),
});
const { algorithmIdentifier } = signatureSchemeOf(privateKey);

function elementsOf(content: Buffer): Buffer[] {
  const elements: Buffer[] = [];
  for (const reader = new DerReader(content); !reader.isAtEnd;) elements.push(reader.readElement().bytes);
  return elements;
}

/** The parts of a tbsCertificate, in their order (RFC 5280 section 4.1). */
const parts = ["version", "serial", "algorithm", "issuer", "validity", "subject", "key", "extensions"] as const;
type Part = (typeof parts)[number];
const own = elementsOf(new DerReader(certificate.tbsCertificate).readElement().content);

interface Change {
  /** What a part is replaced by: any number of elements. */
  readonly instead?: Partial<Record<Part, readonly Buffer[]>>;
  readonly outerAlgorithm?: Buffer;
  readonly signature?: Buffer;
  /** Elements after the signature. */
  readonly end?: Buffer;
}

/** The certificate with other parts. Its signature is not looked at when it is read. */
const changed = ({ instead = {}, outerAlgorithm, signature, end = Buffer.alloc(0) }: Change): Buffer =>
  encodeSequence(
    encodeSequence(...parts.flatMap((part, index) => instead[part] ?? own.slice(index, index + 1))),
    outerAlgorithm ?? algorithmIdentifier,
    signature ?? encodeBitString(Buffer.alloc(64)),
    end,
  );

const version = (number: number): Buffer => encodeElement(0xa0, encodeSmallInteger(number));
const uniqueId = (tag: number, ...octets: number[]): Buffer => encodeElement(tag, Buffer.from(octets));
const [, , , , , , key = Buffer.alloc(0), extensions = Buffer.alloc(0)] = own;
const times = (...[from, to]: readonly [string, string]): Buffer =>
  encodeSequence(encodeElement(0x17, Buffer.from(from)), encodeElement(0x17, Buffer.from(to)));
const extension = (id: string): Buffer => encodeExtension({ id, isCritical: false, value: Buffer.of(5, 0) });
const extensionList = (...list: readonly Buffer[]): Buffer => encodeElement(0xa3, encodeSequence(...list));

describe("a certificate", () => {
  it("is read in every version, with unique identifiers where a version has them", () => {
    assert.equal(parseCertificate(changed({})).subject.commonName, "ca");
    assert.equal(parseCertificate(changed({ instead: { version: [], extensions: [] } })).version, 1);
    const ids = [uniqueId(0x81, 0, 1), uniqueId(0x82, 7, 0x80)];
    assert.equal(
      parseCertificate(changed({ instead: { version: [version(1)], key: [key, ...ids], extensions: [] } })).version,
      2,
    );
    assert.equal(parseCertificate(changed({ instead: { key: [key, ...ids] } })).version, 3);
  });

  for (const [what, change, message] of [
    ["a version that there is not", { instead: { version: [version(3)] } }, "x509: invalid version"],
    [
      "a negative version",
      { instead: { version: [encodeElement(0xa0, encodeElement(2, Buffer.of(0xff, 0x00)))] } },
      "x509: invalid version",
    ],
    [
      "two versions",
      {
        instead: { version: [encodeElement(0xa0, Buffer.concat([encodeSmallInteger(2), encodeSmallInteger(2)]))] },
      },
      "x509: malformed version",
    ],
    [
      "a negative serial number",
      { instead: { serial: [encodeElement(2, Buffer.of(0x80))] } },
      "x509: negative serial number",
    ],
    ["an empty serial number", { instead: { serial: [encodeElement(2)] } }, "x509: malformed serial number"],
    [
      "two signature algorithms",
      { outerAlgorithm: encodeSequence(encodeObjectIdentifier("1.2.840.10045.4.3.3")) },
      "x509: inner and outer signature algorithm identifiers don't match",
    ],
    [
      "a signature that ends within an octet",
      { signature: encodeBitString(Buffer.of(0xf0), 4) },
      "x509: malformed signature",
    ],
    ["a signature that is none", { signature: encodeElement(4, Buffer.of(0)) }, "x509: malformed signature"],
    // No signature covers it, and it would give a revoked certificate another fingerprint.
    ["anything after the signature", { end: encodeElement(5) }, "x509: malformed certificate"],
    [
      "a third time",
      { instead: { validity: [encodeSequence(...elementsOf(own[4]?.subarray(2) ?? key), encodeElement(5))] } },
      "x509: malformed validity",
    ],
    [
      "a day that no month has",
      { instead: { validity: [times("200230000000Z", "210101000000Z")] } },
      "x509: malformed UTCTime",
    ],
    ["a time that is no time", { instead: { validity: [times("now", "210101000000Z")] } }, "x509: malformed UTCTime"],
    [
      "a time of another type",
      { instead: { validity: [encodeSequence(encodeElement(12, Buffer.from("2020")))] } },
      "x509: unsupported time format",
    ],
    [
      "a unique identifier that is no bit string",
      { instead: { key: [key, uniqueId(0x81, 8)] } },
      "x509: malformed unique identifier",
    ],
    ["an empty unique identifier", { instead: { key: [key, uniqueId(0x82)] } }, "x509: malformed unique identifier"],
    [
      "unique identifiers in version 1",
      { instead: { version: [], key: [key, uniqueId(0x81, 0, 1)], extensions: [] } },
      "x509: malformed tbs certificate",
    ],
    ["extensions in version 2", { instead: { version: [version(1)] } }, "x509: malformed tbs certificate"],
    [
      "two lists of extensions",
      { instead: { extensions: [extensions, extensions] } },
      "x509: malformed tbs certificate",
    ],
    [
      "an extension twice",
      { instead: { extensions: [extensionList(extension("1.2.3"), extension("1.2.3"))] } },
      /duplicate/,
    ],
    [
      "more extensions than any certificate has",
      {
        instead: {
          extensions: [extensionList(...Array.from({ length: 257 }, (_, index) => extension(`1.2.3.${index}`)))],
        },
      },
      "x509: too many extensions",
    ],
  ] as const satisfies readonly (readonly [string, Change, string | RegExp])[]) {
    it(`may not have ${what}`, () => {
      assert.throws(() => parseCertificate(changed(change)), { name: "PkiError", message });
    });
  }

  it("is the only one where one is expected", () => {
    for (const more of [Buffer.of(0), changed({})]) {
      const message = "x509: trailing data";
      assert.throws(() => parseCertificate(Buffer.concat([changed({}), more])), { name: "PkiError", message });
    }
  });
});
