import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ListedCertificates } from "../../../../src/features/certificates/status/listed-certificates.ts";
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
});
