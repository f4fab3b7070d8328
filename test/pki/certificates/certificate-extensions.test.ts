import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readCertificateExtensions } from "../../../src/pki/certificates/certificate-extensions.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSmallInteger,
} from "../../../src/pki/der/der-writer.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";

const [nothing, id, number] = [encodeElement(5), encodeObjectIdentifier("1.2.3"), encodeSmallInteger(1)];
const list = (...entries: readonly Buffer[]): Buffer => encodeSequence(...entries.map((one) => encodeSequence(one)));
const uuid = encodeElement(6, Buffer.from("6983f4a1b2c3d4e5f69788990a", "hex"));
const uri = encodeElement(0x86, Buffer.from("http://a.example/"));
const explicit = (tag: number, content: Buffer): Buffer => encodeElement(0xa0 + tag, content);

interface Case {
  readonly good: readonly Buffer[];
  readonly bad: readonly Buffer[];
  readonly message: RegExp;
}

/** What Go's `x509.ParseCertificate` accepts and refuses: programs could not read a certificate, or a bundle with it. */
const cases: Readonly<Record<string, Case>> = {
  [oids.authorityInfoAccess]: {
    good: [encodeSequence(), list(Buffer.concat([id, uri])), list(id)],
    bad: [nothing, encodeSequence(nothing), list(nothing), encodeSequence(encodeSequence())],
    message: /invalid authority info access/,
  },
  [oids.crlDistributionPoints]: {
    good: [encodeSequence(), encodeSequence(encodeSequence()), list(explicit(0, explicit(0, uri))), list(uri)],
    bad: [nothing, encodeSequence(nothing), list(explicit(0, nothing)), list(explicit(0, explicit(1, uri)))],
    message: /invalid CRL distribution point/,
  },
  [oids.certificatePolicies]: {
    good: [encodeSequence(), list(id), list(uuid, id), list(Buffer.concat([id, encodeSequence()]))],
    bad: [nothing, encodeSequence(nothing), list(nothing), list(id, id), list(uuid, id, uuid), list(encodeElement(6))],
    message: /invalid certificate policies/,
  },
  [oids.policyMappings]: {
    good: [encodeSequence(), list(Buffer.concat([id, uuid]))],
    bad: [nothing, encodeSequence(nothing), list(id), list(nothing)],
    message: /invalid policy mappings/,
  },
  [oids.policyConstraints]: {
    good: [encodeSequence(), encodeSequence(encodeElement(0x81, Buffer.of(0)))],
    bad: [
      ...[nothing, encodeSequence(nothing), encodeSequence(encodeElement(0x80)), encodeSequence(encodeElement(0x81))],
      encodeSequence(encodeElement(0x80, Buffer.of(0, 1))),
      encodeSequence(encodeElement(0x81, Buffer.of(0, 1))),
      encodeSequence(encodeElement(0x81, Buffer.alloc(9, 1))),
    ],
    message: /invalid policy constraints/,
  },
  [oids.inhibitAnyPolicy]: {
    good: [number, encodeSmallInteger(0)],
    bad: [nothing, encodeSequence(), Buffer.concat([number, number]), Buffer.alloc(0)],
    message: /invalid inhibit any policy/,
  },
};
const reading = (extension: string, value: Buffer, isCritical = false) =>
  readCertificateExtensions([{ id: extension, isCritical, value }]);

describe("an extension of a certificate that grants nothing", () => {
  for (const [extension, { good, bad, message }] of Object.entries(cases)) {
    it(`is read as strictly as Go does: ${extension}`, () => {
      for (const value of good) reading(extension, value);
      for (const value of bad) assert.throws(() => reading(extension, value), message);
    });
  }

  it("never makes the parser fail in another way, whatever its octets are", () => {
    const known = fc.constantFrom(...Object.keys(cases));
    const pieces = fc.constantFrom(...Object.values(cases).flatMap(({ good, bad }) => [...good, ...bad]));
    const value = fc.oneof(fc.uint8Array({ maxLength: 12 }).map(Buffer.from), fc.array(pieces).map(Buffer.concat));
    fc.assert(
      fc.property(known, value, (extension, octets) => {
        try {
          reading(extension, octets);
        } catch (error) {
          assert.ok(error instanceof PkiError);
        }
      }),
    );
  });
});

describe("an extension that must not be critical", () => {
  const marked = (name: string) => new RegExp(`^PkiError: x509: ${name} incorrectly marked critical$`);

  for (const [extension, value, name] of [
    [oids.subjectKeyIdentifier, encodeElement(4, Buffer.of(1)), "subject key identifier"],
    [oids.authorityKeyIdentifier, encodeSequence(encodeElement(0x80, Buffer.of(1))), "authority key identifier"],
    [oids.authorityInfoAccess, list(Buffer.concat([id, uri])), "authority info access"],
  ] as const) {
    it(`is refused when it is, as Go does: the ${name}`, () => {
      reading(extension, value);
      assert.throws(() => reading(extension, value, true), marked(name));
    });
  }
});

it("an extension holds at most a thousand values", () => {
  const host = encodeElement(0x82, Buffer.from("a.example"));
  const distinct = (index: number): Buffer => encodeObjectIdentifier(`1.2.${index}`);
  for (const [extension, valueOf] of [
    [oids.extendedKeyUsage, (ids: readonly Buffer[]) => encodeSequence(...ids)],
    [oids.certificatePolicies, (ids: readonly Buffer[]) => list(...ids)],
    [oids.certificatePolicies, (ids: readonly Buffer[]) => list(Buffer.concat([id, ...ids]))],
    [oids.crlDistributionPoints, (ids: readonly Buffer[]) => list(explicit(0, explicit(0, Buffer.concat(ids))))],
    [
      oids.nameConstraints,
      (ids: readonly Buffer[]) => encodeSequence(explicit(0, Buffer.concat(ids.map(() => encodeSequence(host))))),
    ],
  ] as const) {
    const read = (count: number) =>
      reading(extension, valueOf(Array.from({ length: count }, (_, at) => distinct(at + 4))));
    read(1000);
    assert.throws(() => read(1001), PkiError, extension);
  }
});

it("a certificate without basic constraints is no CA's (RFC 5280 section 4.2.1.9)", () => {
  assert.equal(readCertificateExtensions([]).isCA, false);
  // Written out, as some programs do, though DER leaves out what is so by default.
  assert.equal(reading(oids.basicConstraints, encodeSequence(encodeElement(1, Buffer.of(0)))).isCA, false);
});

it("a critical extension is understood when it is read, and only then", () => {
  const isUnderstood = (extension: string, value: Buffer): boolean =>
    reading(extension, value, true).unhandledCriticalExtensions.length === 0;
  const host = encodeElement(0x82, Buffer.from("a.example"));
  for (const [extension, value] of [
    [oids.keyUsage, encodeElement(3, Buffer.of(7, 0x80))],
    [oids.basicConstraints, encodeSequence()],
    [oids.subjectAltName, encodeSequence(host)],
    [oids.extendedKeyUsage, encodeSequence(id)],
    [oids.nameConstraints, encodeSequence(explicit(0, encodeSequence(host)))],
    [oids.crlDistributionPoints, list(uri)],
  ] as const) {
    assert.ok(isUnderstood(extension, value), extension);
  }
  const directory = encodeElement(0xa4, encodeSequence());
  for (const [extension, value] of [
    [oids.subjectAltName, encodeSequence(directory)],
    [
      oids.nameConstraints,
      encodeSequence(explicit(0, Buffer.concat([host, directory].map((one) => encodeSequence(one))))),
    ],
    [oids.policyMappings, list(Buffer.concat([id, uuid]))],
    ["1.2.3.4", nothing],
  ] as const) {
    assert.ok(!isUnderstood(extension, value), extension);
  }
});

it("a certificate's key usages are the bits of RFC 5280 section 4.2.1.3", () => {
  const usagesOf = (...octets: readonly number[]) =>
    reading(oids.keyUsage, encodeElement(3, Buffer.of(0, ...octets))).keyUsages;
  assert.deepEqual(usagesOf(0b1010_0000), ["digitalSignature", "keyEncipherment"]);
  assert.deepEqual(usagesOf(0b0101_1000), ["contentCommitment", "dataEncipherment", "keyAgreement"]);
  assert.deepEqual(usagesOf(0b0000_0110), ["certSign", "crlSign"]);
  assert.deepEqual(usagesOf(0b0000_0001, 0b1000_0000), ["encipherOnly", "decipherOnly"]);
});

it("a CA's path is not shorter than nothing, and nothing comes after its length", () => {
  const constraints = (...rest: readonly Buffer[]): Buffer =>
    encodeSequence(encodeElement(1, Buffer.of(0xff)), ...rest);
  assert.equal(reading(oids.basicConstraints, constraints(encodeSmallInteger(0))).maxPathLength, 0);
  for (const rest of [[encodeElement(2, Buffer.of(0xff))], [encodeSmallInteger(0), nothing]]) {
    assert.throws(() => reading(oids.basicConstraints, constraints(...rest)), /invalid basic constraints/);
  }
});

describe("a policy of a certificate", () => {
  const required = encodeSequence(encodeElement(0x80, Buffer.of(0)));

  it("makes it untrusted when a CA requires one, whether the extension is critical or not", () => {
    for (const isCritical of [true, false]) {
      const { unhandledCriticalExtensions } = reading(oids.policyConstraints, required, isCritical);
      assert.deepEqual(unhandledCriticalExtensions, [oids.policyConstraints]);
    }
  });

  it("changes nothing when none is required, so that it may be inhibited", () => {
    const inhibited = encodeSequence(encodeElement(0x81, Buffer.of(0)));
    assert.deepEqual(reading(oids.policyConstraints, inhibited, true).unhandledCriticalExtensions, []);
    assert.deepEqual(reading(oids.inhibitAnyPolicy, encodeSmallInteger(0), true).unhandledCriticalExtensions, []);
    assert.deepEqual(reading(oids.certificatePolicies, list(id), true).unhandledCriticalExtensions, []);
  });
});
