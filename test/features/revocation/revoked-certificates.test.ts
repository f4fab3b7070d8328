import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { moreSevere, RevokedCertificates } from "../../../src/features/revocation/revoked-certificates.ts";
import type { CertificateFacts } from "../../../src/features/revocation/revoked-certificates.ts";
import type { Revocation } from "../../../src/features/revocation/revocations.ts";

const timeOf = (second: number): string => new Date(second * 1000).toISOString();

interface Given {
  readonly second: number;
  readonly reason: "superseded" | "certificateHold";
  readonly certificate: NonNullable<Revocation["spec"]["certificate"]>;
}

const revocationOf = ({ second, reason, certificate }: Given, index: number): Revocation => ({
  kind: "Revocation",
  apiVersion: "signet.platform.io/v1",
  metadata: { name: `r${index}`, creationTimestamp: timeOf(second) },
  spec: { certificate, reason, expirationTimestamp: timeOf(100 + second) },
});

const second = fc.integer({ min: 0, max: 5 });
const certificate: fc.Arbitrary<Given["certificate"]> = fc.oneof(
  fc.constantFrom({ subject: "CN=a" }, { fingerprint: "f1" }, { serialNumber: "1", issuer: "CN=ca" }),
  second.map((before) => ({ subject: "CN=a", issuedBefore: timeOf(before) })),
);
const given: fc.Arbitrary<Given> = fc.record({
  second,
  reason: fc.constantFrom("superseded", "certificateHold"),
  certificate,
});
const facts: fc.Arbitrary<CertificateFacts> = fc.record({
  fingerprint: fc.constantFrom("f1", "f2"),
  serialNumber: fc.constantFrom("1", "2"),
  issuer: fc.constant("CN=ca"),
  subject: fc.constantFrom("CN=a", "CN=b"),
  notBefore: second.map((one) => one * 1000),
});

/** The rule, without an index. */
const names = ({ spec }: Revocation, one: CertificateFacts): boolean => {
  const { fingerprint, serialNumber, subject, issuedBefore } = spec.certificate ?? {};
  if (issuedBefore !== undefined && one.notBefore >= Date.parse(issuedBefore)) return false;
  if (fingerprint !== undefined) return fingerprint === one.fingerprint;
  return serialNumber === undefined ? subject === one.subject : serialNumber === one.serialNumber;
};

describe("revoked certificates", () => {
  it("are those that a current revocation names, by the one that counts, whatever was added and removed before", () => {
    fc.assert(
      fc.property(
        fc.array(given, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        facts,
        (all, removals, one) => {
          const revoked = new RevokedCertificates();
          const left = all.map(revocationOf);
          revoked.add(revocationOf({ second: 0, reason: "superseded", certificate: { subject: one.subject } }, 0));
          revoked.clear();
          for (const each of left) revoked.add(each);
          for (const removal of removals) {
            const [gone] = left.splice(removal % Math.max(left.length, 1), 1);
            if (gone !== undefined) revoked.remove(gone);
          }
          assert.equal(revoked.isEmpty, left.length === 0);
          const expected = left
            .filter((each) => names(each, one))
            .map(({ metadata, spec: { reason } }) => ({
              revokedAt: Date.parse(metadata.creationTimestamp ?? ""),
              reason: reason as Given["reason"], // as it was given
            }))
            .reduce<ReturnType<RevokedCertificates["find"]>>(moreSevere, undefined);
          assert.deepEqual(revoked.find(one), expected);
        },
      ),
    );
  });

  it("are revoked permanently by what is no hold, and else from the earliest time on", () => {
    const [held, heldLater] = [1000, 3000].map((revokedAt) => ({ revokedAt, reason: "certificateHold" }) as const);
    const [forGood, forGoodLater] = [2000, 4000].map((revokedAt) => ({ revokedAt, reason: "superseded" }) as const);
    assert.ok(held && heldLater && forGood && forGoodLater);
    for (const [one, other, counts] of [
      [held, forGood, forGood],
      [heldLater, forGood, forGood],
      [held, heldLater, held],
      [forGood, forGoodLater, forGood],
    ] as const) {
      assert.equal(moreSevere(one, other), counts);
      assert.equal(moreSevere(other, one), counts);
    }
    assert.equal(moreSevere(undefined, held), held);
  });

  it("stay revoked when another revocation of the same is removed that was never added", () => {
    const revoked = new RevokedCertificates();
    const [known, other] = [0, 1].map((index) =>
      revocationOf({ second: 1, reason: "superseded", certificate: { fingerprint: "f1" } }, index),
    );
    assert.ok(known && other);
    const one: CertificateFacts = { fingerprint: "f1", serialNumber: "1", issuer: "", subject: "", notBefore: 0 };
    revoked.add(known);
    revoked.remove(other);
    assert.notEqual(revoked.find(one), undefined);
    revoked.remove(known);
    assert.equal(revoked.find(one), undefined);
  });

  it("know the longest validity of what revokes one serial number", () => {
    const revoked = new RevokedCertificates();
    const ofSerialNumber = { serialNumber: "1", issuer: "CN=ca" };
    for (const [index, each] of [3, 5, 1].entries()) {
      revoked.add(revocationOf({ second: each, reason: "superseded", certificate: ofSerialNumber }, index));
    }
    assert.deepEqual(revoked.findSerialNumber(ofSerialNumber), {
      ...ofSerialNumber,
      revokedAt: 1000,
      reason: "superseded",
      expiresAt: 105_000,
    });
    assert.equal([...revoked.serialNumbers()].length, 3);
  });

  it("are removed without a look at the others of one subject", () => {
    const revoked = new RevokedCertificates();
    const all = Array.from({ length: 100 }, (_, index) =>
      revocationOf({ second: 1, reason: "superseded", certificate: { subject: "CN=a" } }, index),
    );
    for (const each of all) revoked.add(each);
    let reads = 0;
    for (const { metadata, ...rest } of all) {
      revoked.remove({
        ...rest,
        get metadata() {
          reads += 1;
          return metadata;
        },
      });
    }
    assert.equal(reads, all.length);
    assert.equal(revoked.isEmpty, true);
  });
});
