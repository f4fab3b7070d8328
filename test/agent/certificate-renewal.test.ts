import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import {
  certificateState,
  nextStep,
  requestIdentity,
  overdueAt,
  refusalOf,
  requestState,
  rotationPoint,
} from "../../src/agent/certificate-renewal.ts";
import { wantedClientCertificate, wantedServingCertificate } from "../../src/agent/wanted-certificate.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import type { CertificateSigningRequest } from "../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { certificateFor } from "./issued-certificate.ts";

const unit = fc.double({ min: 0, max: 1, noNaN: true });

test("a certificate is renewed at 70 to 90 % of its lifetime, wherever the dice fall", () => {
  fc.assert(
    fc.property(fc.nat(1e12), fc.integer({ min: 600_000, max: 1e12 }), unit, (notBefore, lifetime, random) => {
      const share = (rotationPoint({ notBefore, notAfter: notBefore + lifetime }, random) - notBefore) / lifetime;
      assert.ok(share > 0.6999 && share < 0.9001);
    }),
  );
  assert.equal(rotationPoint({ notBefore: 0, notAfter: 1000 }, 0), 700);
  assert.equal(rotationPoint({ notBefore: 0, notAfter: 1000 }, 1), 900);
});

describe("a certificate", () => {
  const wanted = wantedServingCertificate(platformNames, {
    nodeName: "n1",
    dnsNames: ["n1"],
    ipAddresses: ["10.0.0.1"],
  });
  const certificate = certificateFor(wanted, { notBefore: 1_000_000, notAfter: 2_000_000 });
  const question = { certificate, wanted, isRefused: false, rotateAt: 1_800_000, now: 1_500_000 };

  it("is current until it is due, expired after its end, and current before its beginning", () => {
    assert.equal(certificateState(question), "current");
    assert.equal(certificateState({ ...question, now: 1_799_999 }), "current");
    assert.equal(certificateState({ ...question, now: 1_800_000 }), "due");
    assert.equal(certificateState({ ...question, now: 2_000_000 }), "due");
    assert.equal(certificateState({ ...question, now: 2_000_001 }), "expired");
    assert.equal(certificateState({ ...question, now: 0 }), "current");
  });

  it("is missing, refused or outdated before anything else is asked", () => {
    assert.equal(certificateState({ ...question, certificate: undefined }), "missing");
    assert.equal(certificateState({ ...question, isRefused: true }), "refused");
    const moved = { ...wanted, subjectAltNames: { ...wanted.subjectAltNames, ipAddresses: ["10.0.0.2"] } };
    assert.equal(certificateState({ ...question, wanted: moved }), "outdated");
    assert.equal(certificateState({ ...question, wanted: wantedClientCertificate(platformNames, "n2") }), "outdated");
    const fewer = { ...wanted, subjectAltNames: { ...wanted.subjectAltNames, ipAddresses: [] } };
    assert.equal(certificateState({ ...question, wanted: fewer }), "current");
  });
});

test("the next step is a request when one is wanted and no wait after a failure runs", () => {
  const calm = {
    certificate: "current",
    dueInMilliseconds: 5000,
    isRotationAsked: false,
    hasPendingRequest: false,
    retryInMilliseconds: 0,
  } as const;
  assert.deepEqual(nextStep(calm), { do: "wait", milliseconds: 5000 });
  assert.deepEqual(nextStep({ ...calm, retryInMilliseconds: 70 }), { do: "wait", milliseconds: 5000 });
  for (const certificate of ["missing", "refused", "expired", "outdated", "due"] as const) {
    assert.deepEqual(nextStep({ ...calm, certificate }), { do: "request" });
    assert.deepEqual(nextStep({ ...calm, certificate, retryInMilliseconds: 70 }), { do: "wait", milliseconds: 70 });
  }
  assert.deepEqual(nextStep({ ...calm, isRotationAsked: true }), { do: "request" });
  assert.deepEqual(nextStep({ ...calm, hasPendingRequest: true }), { do: "request" });
});

describe("a request", () => {
  const created = "2026-01-01T00:00:00Z";
  const at = Date.parse(created);
  const request = (status: CertificateSigningRequest["status"]): CertificateSigningRequest => ({
    apiVersion: "certificates.platform.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "r", creationTimestamp: created },
    spec: { request: "", signerName: "s" },
    status,
  });
  const condition = (type: string) => ({ type, status: "True", reason: "Why", message: "because" });

  it("is pending for 15 minutes, approved or not, and then overdue", () => {
    assert.equal(requestState(request({}), at + 899_999), "pending");
    assert.equal(requestState(request({ conditions: [condition("Approved")] }), at + 899_999), "pending");
    assert.equal(requestState(request({}), at + 900_000), "overdue");
    assert.equal(overdueAt(request({})), at + 900_000);
  });

  it("is issued with a certificate, however late, and denied or failed whatever else there is", () => {
    assert.equal(requestState(undefined, at), "absent");
    assert.equal(requestState(request({ certificate: "LS0=" }), at + 9e9), "issued");
    assert.equal(requestState(request({ certificate: "LS0=", conditions: [condition("Denied")] }), at), "denied");
    assert.equal(requestState(request({ conditions: [condition("Approved"), condition("Failed")] }), at), "failed");
    assert.equal(refusalOf(request({ conditions: [condition("Failed")] })), "Failed (Why): because");
  });
});

test("a node asks as itself while its certificate is good, and else introduces itself if it can", () => {
  const certificate = certificateFor(wantedClientCertificate(platformNames, "n"), { notBefore: 0, notAfter: 10_000 });
  const question = { certificate, isRefused: false, hasBootstrap: true, now: 5000 };
  assert.equal(requestIdentity(question), "node");
  assert.equal(requestIdentity({ ...question, now: 10_001 }), "bootstrap");
  assert.equal(requestIdentity({ ...question, isRefused: true }), "bootstrap");
  assert.equal(requestIdentity({ ...question, certificate: undefined }), "bootstrap");
  assert.equal(requestIdentity({ ...question, now: 10_001, hasBootstrap: false }), "node");
  assert.equal(requestIdentity({ ...question, certificate: undefined, hasBootstrap: false }), undefined);
});
