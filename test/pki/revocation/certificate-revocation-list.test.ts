import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  encodeRevokedEntry,
  parseRevocationList,
  signRevocationList,
} from "../../../src/pki/revocation/certificate-revocation-list.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { DerReader, tags, readTime } from "../../../src/pki/der/der.ts";
import { keyIdentifier, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import type { KeyType } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { reasonCodes } from "../../../src/pki/revocation/revocation-reason.ts";
import type { RevocationReason } from "../../../src/pki/revocation/revocation-reason.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const folder = temporaryFolder();

const second = 1000;
const now = Math.floor(Date.now() / second) * second;
const authorityOf = (type: KeyType) =>
  createCertificateAuthority({
    subject: { commonName: `list ${type}` },
    privateKey: generatePrivateKey(type),
    notBefore: now - 3_600_000,
    notAfter: now + 3_600_000,
  });
const authority = authorityOf("ECDSA P-256");
const reasons = Object.keys(reasonCodes) as RevocationReason[];

const entry = fc.record({
  serialNumber: fc.uint8Array({ minLength: 1, maxLength: 20 }).map((octets) => Buffer.from(octets)),
  revokedAt: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * second),
  reason: fc.constantFrom(...reasons),
});

describe("a revocation list", () => {
  it("is the same after it was encoded and decoded, whatever is in it", async () => {
    const template = fc.record({
      list: fc.array(entry, { maxLength: 20 }),
      number: fc.integer({ min: 0, max: 2 ** 47 - 1 }),
      thisUpdate: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * second),
      distributionPoints: fc.array(fc.webUrl(), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(template, async ({ list, number, thisUpdate, distributionPoints }) => {
        const entries = Buffer.concat(list.map(encodeRevokedEntry));
        const times = { thisUpdate, nextUpdate: thisUpdate + 3_600_000 };
        const fields = { number, distributionPoints, ...times };
        const read = parseRevocationList(await signRevocationList({ entries, ...fields }, authority));
        const { thisUpdate: readThisUpdate, nextUpdate } = read;
        assert.deepEqual(
          { number: read.number, distributionPoints: read.distributionPoints, thisUpdate: readThisUpdate, nextUpdate },
          fields,
        );
        assert.ok(read.entries.equals(entries));
        assert.ok(read.tbsCertList.includes(authority.certificate.rawSubject));
        assert.ok(read.tbsCertList.includes(keyIdentifier(authority.certificate.publicKey)));
        const reader = new DerReader(read.entries);
        for (const { serialNumber, revokedAt, reason } of list) {
          const line = reader.readSequence("");
          assert.equal(BigInt(`0x${line.readInteger().toString("hex")}`), BigInt(`0x${serialNumber.toString("hex")}`));
          assert.equal(readTime(line), revokedAt);
          assert.equal(line.isAtEnd, reason === "unspecified");
          if (reason === "unspecified") continue;
          assert.equal(line.read(tags.sequence, "").at(-1), reasonCodes[reason]);
        }
        assert.ok(reader.isAtEnd);
      }),
      { numRuns: 100 },
    );
  });

  it("has no member for entries when it has none (RFC 5280 section 5.1.2.6)", async () => {
    const der = await signRevocationList(
      { entries: Buffer.alloc(0), number: 1, thisUpdate: now, nextUpdate: now },
      authority,
    );
    const fields = new DerReader(parseRevocationList(der).tbsCertList).readSequence("");
    const fieldTags: number[] = [];
    while (!fields.isAtEnd) fieldTags.push(fields.readElement().tag);
    const { integer, sequence, utcTime } = tags;
    assert.deepEqual(fieldTags, [integer, sequence, sequence, utcTime, utcTime, 0xa0]);
  });

  it("throws nothing but PkiError, whatever the octets", async () => {
    const der = await signRevocationList(
      {
        entries: encodeRevokedEntry({ serialNumber: Buffer.of(7), revokedAt: now, reason: "superseded" }),
        number: 1,
        thisUpdate: now,
        nextUpdate: now,
      },
      authority,
    );
    fc.assert(
      fc.property(fc.nat({ max: der.length - 1 }), fc.nat({ max: 255 }), fc.boolean(), (at, octet, isCut) => {
        const bent = Buffer.from(isCut ? der.subarray(0, at) : der);
        if (!isCut) bent[at] = octet;
        try {
          parseRevocationList(bent);
        } catch (error) {
          assert.ok(error instanceof PkiError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });

  for (const type of ["ECDSA P-256", "ECDSA P-384", "Ed25519", "RSA 2048"] as const) {
    it(`of a CA with a key of ${type} is one that openssl verifies and shows`, async () => {
      const issuer = authorityOf(type);
      const entries = Buffer.concat([
        encodeRevokedEntry({ serialNumber: Buffer.from("7fab", "hex"), revokedAt: now, reason: "keyCompromise" }),
        encodeRevokedEntry({ serialNumber: Buffer.from("ffab", "hex"), revokedAt: now, reason: "unspecified" }),
        encodeRevokedEntry({ serialNumber: Buffer.from("01", "hex"), revokedAt: now, reason: "certificateHold" }),
      ]);
      const list = await signRevocationList(
        {
          entries,
          number: 1_700_000_000,
          thisUpdate: now,
          nextUpdate: now + 3_600_000,
          distributionPoints: ["http://pki/1.crl"],
        },
        issuer,
      );
      writeFileSync(join(folder, "list.der"), list);
      writeFileSync(join(folder, "ca.pem"), encodePem("CERTIFICATE", issuer.certificate.der));
      const show = "openssl crl -inform DER -in list.der -CAfile ca.pem -noout -text 2>&1";
      const shown = execFileSync("sh", ["-c", show], { encoding: "utf8", cwd: folder });
      for (const expected of [
        "verify OK",
        "Version 2 (0x1)",
        "X509v3 Authority Key Identifier",
        /X509v3 CRL Number:\s+(1700000000|0x6553F100)/i,
        "X509v3 Issuing Distribution Point: critical",
        "URI:http://pki/1.crl",
        "Serial Number: 7FAB",
        "Serial Number: FFAB",
        "Key Compromise",
        "Certificate Hold",
      ]) {
        assert.match(
          shown,
          typeof expected === "string" ? new RegExp(expected.replaceAll(/[().]/g, "\\$&")) : expected,
        );
      }
      assert.equal(shown.match(/: critical/g)?.length, 1, "no other extension is critical");
    });
  }
});
