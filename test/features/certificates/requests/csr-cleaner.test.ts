import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { removalTime } from "../../../../src/features/certificates/requests/csr-cleaner.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { rememberIssued } from "../../../../src/features/certificates/requests/issued-text.ts";
import { timestamp } from "../../../../src/machinery/api/clock.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import type { CertificateSigningRequest } from "../../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { intermediateOf, newAuthority } from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const created = Math.floor(Date.now() / 1000) * 1000;
const minute = 60_000;
const hour = 60 * minute;

/** A request whose conditions were set ten minutes after it was made. */
const request = (types: readonly string[], certificate?: string): CertificateSigningRequest => ({
  apiVersion: `${names.group("certificates")}/v1`,
  kind: "CertificateSigningRequest",
  metadata: { name: "r", creationTimestamp: timestamp(created) },
  spec: { signerName: signerNames.apiserverClient(names), request: "" },
  status: {
    conditions: types.map((type) => ({ type, status: "True", lastUpdateTime: timestamp(created + 10 * minute) })),
    ...(certificate !== undefined && { certificate: Buffer.from(certificate).toString("base64") }),
  },
});

const age = (one: CertificateSigningRequest): number => removalTime(one) - created;

describe("the time at which the cleaner removes a request", () => {
  it("is a day after the creation of one that waits for approval", () => {
    assert.equal(age(request([])), 24 * hour);
    assert.equal(age(request(["SomethingElse"])), 24 * hour);
  });

  it("is a day after the approval of one that waits for its signer", () => {
    assert.equal(age(request(["Approved"])), 24 * hour + 10 * minute);
  });

  it("is an hour after the last condition of one that was denied, failed or issued", () => {
    const { der, notAfter } = newAuthority("far").certificate;
    assert.ok(notAfter > created + 24 * hour);
    assert.equal(age(request(["Denied"])), 70 * minute);
    assert.equal(age(request(["Approved", "Failed"])), 70 * minute);
    assert.equal(age(request(["Approved"], encodePem("CERTIFICATE", der))), 70 * minute);
  });

  it("is the end of its certificate, if that is sooner, whether this process has issued it or another signer", () => {
    const authority = newAuthority("near");
    const [own, other] = ["own", "other"].map((name) => {
      const { certificate } = intermediateOf(authority, name, { notAfter: created + 30 * minute });
      return { certificate, pem: encodePem("CERTIFICATE", certificate.der) };
    });
    assert.ok(own !== undefined && other !== undefined);
    rememberIssued(Buffer.from(own.pem).toString("base64"), own.certificate);
    for (const { pem } of [own, other]) {
      assert.equal(age(request(["Approved"], pem)), 30 * minute);
      assert.equal(age(request(["Approved", "Failed"], pem)), 70 * minute);
    }
  });

  it("does not depend on a certificate that cannot be read", () => {
    assert.equal(age(request(["Approved"], "no PEM")), 70 * minute);
    assert.equal(age(request(["Approved"], encodePem("CERTIFICATE", Buffer.from("no DER")))), 70 * minute);
  });
});
