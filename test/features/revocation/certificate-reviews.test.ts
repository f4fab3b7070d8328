import assert from "node:assert/strict";
import { test } from "node:test";
import { revocationResource } from "../../../src/features/revocation/index.ts";
import type { CertificateReview } from "../../../src/features/revocation/resources.ts";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { postReview } from "../../../src/machinery/client/post-review.ts";
import { fingerprintOf, serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import { encodeCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { nodeClient } from "../../agent/node/node-client.ts";
import { newAuthority } from "../../end-to-end/signing-authority.ts";
import { startTestServer } from "../../test-server.ts";

test("a review says whether any revocation names a certificate, to nodes too", async () => {
  const server = await startTestServer({ settings: { controllers: "false" } });
  const asNode = nodeClient(server, "n1");
  const review = (certificate: string) =>
    postReview<CertificateReview>(asNode, {
      group: names.group("signet"),
      kind: "CertificateReview",
      spec: { certificate },
    });
  const isRevoked = async (certificate: Certificate): Promise<boolean> =>
    (await review(encodeCertificatesPem([certificate]))).status.revoked;
  const [one, two, three, four] = ["one", "two", "three", "four"].map((name) => newAuthority(name).certificate);
  if (!one || !two || !three || !four) assert.fail();
  const revocations = server.client.resource(revocationResource(names));
  for (const [name, certificate] of Object.entries({
    one: { fingerprint: fingerprintOf(one) },
    two: { issuer: "CN=two", serialNumber: serialNumberHex(two) },
    three: { subject: "CN=three" },
    four: { issuer: "CN=another", serialNumber: serialNumberHex(four) },
  })) {
    await revocations.create({ apiVersion: "", kind: "", metadata: { name }, spec: { certificate } });
  }
  assert.deepEqual(await Promise.all([one, two, three, four].map(isRevoked)), [true, true, true, false]);
  await revocations.delete("one");
  assert.equal(await isRevoked(one), false);
  assert.equal((await review(encodeCertificatesPem([four, two]))).status.revoked, false, "the first counts");
  for (const bad of ["", "text", encodePem("CERTIFICATE", Buffer.from("x")), encodePem("PUBLIC KEY", one.der)]) {
    await assert.rejects(
      review(bad),
      (error) => error instanceof ApiError && error.code === 400 && /spec\.certificate/.test(error.message),
    );
  }
  await server.stop();
});
