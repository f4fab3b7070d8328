import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ListedCertificates } from "../../../../src/features/certificates/status/listed-certificates.ts";
import type { IssuedCertificate } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import type { Revocation } from "../../../../src/features/revocation/index.ts";
import { LongWork } from "../../../../src/machinery/scheduling/long-work.ts";

const issuer = "CN=a CA";
const revocation = (serialNumber: string, reason?: string): Revocation => ({
  kind: "Revocation",
  apiVersion: "",
  metadata: { name: `${serialNumber}-${reason}`, creationTimestamp: "2026-11-29T09:00:00Z" },
  spec: { certificate: { issuer, serialNumber }, ...(reason !== undefined && { reason }) },
});

async function listOf(...revocations: readonly Revocation[]): Promise<Buffer> {
  const listed = new ListedCertificates();
  for (const one of revocations) listed.addRevocation(one);
  return (await listed.encoded(issuer, new LongWork())).whole;
}

describe("the entries of a revocation list", () => {
  it("have a certificate that was revoked while they were encoded the next time", async (t) => {
    t.mock.method(performance, "now", () => 0); // it is encoded in one turn, and not yet kept
    const listed = new ListedCertificates();
    listed.addRevocation(revocation("01"));
    const encoding = listed.encoded(issuer, new LongWork());
    listed.addRevocation(revocation("02"));
    await encoding;
    const { whole } = await listed.encoded(issuer, new LongWork());
    assert.deepEqual(whole, await listOf(revocation("01"), revocation("02")));
  });

  it("say of a certificate that is on hold and revoked that it is revoked, whichever came first", async () => {
    const [hold, compromised] = [revocation("01", "certificateHold"), revocation("01", "keyCompromise")];
    const revoked = await listOf(compromised);
    assert.notDeepEqual(await listOf(hold), revoked);
    assert.deepEqual(await listOf(hold, compromised), revoked);
    assert.deepEqual(await listOf(compromised, hold), revoked);
  });

  it("have the whole serial number, also of an odd number of digits", async () => {
    assert.deepEqual(await listOf(revocation("abc")), await listOf(revocation("0abc")));
    assert.match((await listOf(revocation("abc"))).toString("hex"), /02020abc/);
  });

  it("are in the same order, in whichever order certificates were revoked", async () => {
    // Their parts are made of the digest of the serial number: with many, some are in one part.
    const all = Array.from({ length: 40 }, (_, number) => revocation((number + 16).toString(16)));
    assert.deepEqual(await listOf(...all.toReversed()), await listOf(...all));
  });

  it("are as the revocations say that are left, when others were deleted", async () => {
    const listed = new ListedCertificates();
    const record: IssuedCertificate = {
      kind: "IssuedCertificate",
      apiVersion: "",
      metadata: { name: "one" },
      spec: {
        signerName: "",
        serialNumber: "01",
        fingerprint: "f",
        issuer,
        notBefore: "2026-11-29T09:00:00Z",
        notAfter: "2026-12-29T09:00:00Z",
      },
    };
    const current = async (): Promise<Buffer> => {
      await listed.refresh({ records: () => [record], expiredBefore: 0, work: new LongWork() });
      return (await listed.encoded(issuer, new LongWork())).whole;
    };
    const compromised: Revocation = {
      ...revocation("01", "keyCompromise"),
      spec: { certificate: { fingerprint: "f" }, reason: "keyCompromise" },
    };
    const hold = revocation("01", "certificateHold");
    listed.addRevocation(hold);
    assert.deepEqual(await current(), await listOf(hold));
    listed.addRevocation(compromised);
    assert.deepEqual(await current(), await listOf(revocation("01", "keyCompromise")));
    listed.removeRevocation(compromised);
    assert.deepEqual(await current(), await listOf(hold));
    listed.removeRevocation(hold);
    assert.equal((await current()).length, 0);
  });

  it("are forgotten with their issuer when no revocation names it any more", async () => {
    const listed = new ListedCertificates();
    const partsOf = async (): Promise<number> => {
      await listed.refresh({ records: () => [], expiredBefore: 0, work: new LongWork() });
      return (await listed.encoded(issuer, new LongWork())).parts.size;
    };
    listed.addRevocation(revocation("01"));
    listed.addRevocation(revocation("02"));
    assert.equal(await partsOf(), 16);
    listed.removeRevocation(revocation("01"));
    assert.equal(await partsOf(), 16);
    listed.removeRevocation(revocation("02"));
    assert.equal(await partsOf(), 0);
    listed.addRevocation(revocation("03"));
    const { whole } = await listed.encoded(issuer, new LongWork());
    assert.deepEqual(whole, await listOf(revocation("03")));
  });

  it("do not change with revocations of tokens", () => {
    const listed = new ListedCertificates();
    const ofToken: Revocation = { ...revocation("01"), spec: { token: { id: "a" } } };
    assert.deepEqual([listed.addRevocation(ofToken), listed.removeRevocation(ofToken)], [false, false]);
    assert.equal(listed.hasRevocations, false);
  });
});
