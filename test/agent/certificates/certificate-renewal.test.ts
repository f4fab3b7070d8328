import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import {
  certificateState,
  nextStep,
  recallTime,
  requestIdentity,
  refusalReason,
  renewalTime,
} from "../../../src/agent/certificates/certificate-renewal.ts";
import {
  tlsFault,
  tlsUsagesOf,
  wantedClientCertificate,
  wantedServingCertificate,
} from "../../../src/agent/certificates/wanted-certificate.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { latestRecall } from "../../../src/features/certificates/bundles/recall.ts";
import type { CertificateSigningRequest } from "../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { extendedKeyUsages } from "../../../src/pki/der/object-identifiers.ts";
import { certificateFor } from "../issued-certificate.ts";

const unit = fc.double({ min: 0, max: 1, noNaN: true });

test("a certificate is renewed at 70 to 90 % of its lifetime, or shortly after the share that was given", () => {
  fc.assert(
    fc.property(fc.nat(1e12), fc.integer({ min: 600_000, max: 1e12 }), unit, (notBefore, lifetime, random) => {
      const shareFor = (given: number | undefined): number =>
        (renewalTime({ notBefore, notAfter: notBefore + lifetime }, { random, share: given }) - notBefore) / lifetime;
      assert.ok(shareFor(undefined) > 0.6999 && shareFor(undefined) < 0.9001);
      assert.ok(shareFor(0.5) > 0.4999 && shareFor(0.5) < 0.5501);
      assert.ok(shareFor(0.95) < 0.9751);
    }),
  );
  assert.equal(renewalTime({ notBefore: 0, notAfter: 1000 }, { random: 0, share: undefined }), 700);
  assert.equal(renewalTime({ notBefore: 0, notAfter: 1000 }, { random: 1, share: undefined }), 900);
  // Machines that were given the same share do not renew together either.
  assert.equal(renewalTime({ notBefore: 0, notAfter: 1000 }, { random: 0.5, share: 0.5 }), 525);
  assert.equal(renewalTime({ notBefore: 0, notAfter: 1000 }, { random: 1, share: 0.98 }), 990);
});

describe("a certificate", () => {
  const wanted = wantedServingCertificate(platformNames, {
    nodeName: "n1",
    dnsNames: ["n1"],
    ipAddresses: ["10.0.0.1"],
  });
  const certificate = certificateFor(wanted, { notBefore: 1_000_000, notAfter: 2_000_000 });
  const bothSides = { ...wanted, usages: ["client auth", "server auth"] };
  const question = {
    certificate,
    wanted,
    isRevoked: false,
    isRefused: false,
    isSpecificationChanged: false,
    renewAt: 1_800_000,
    recallAt: Infinity,
    now: 1_500_000,
  };

  it("is current until it is due, expired after its end, and early more than five minutes before its beginning", () => {
    assert.equal(certificateState(question), "current");
    assert.equal(certificateState({ ...question, now: 1_799_999 }), "current");
    assert.equal(certificateState({ ...question, now: 1_800_000 }), "due");
    assert.equal(certificateState({ ...question, now: 2_000_000 }), "due");
    assert.equal(certificateState({ ...question, now: 2_000_001 }), "expired");
    assert.equal(certificateState({ ...question, now: 700_000 }), "current");
    assert.equal(certificateState({ ...question, now: 699_999 }), "early");
  });

  it("is reported as missing, revoked, refused or outdated before its dates are checked", () => {
    assert.equal(certificateState({ ...question, certificate: undefined }), "missing");
    assert.equal(certificateState({ ...question, isRefused: true }), "refused");
    assert.equal(certificateState({ ...question, isRevoked: true, isRefused: true }), "revoked");
    const moved = { ...wanted, subjectAltNames: { ...wanted.subjectAltNames, ipAddresses: ["10.0.0.2"] } };
    assert.equal(certificateState({ ...question, wanted: moved }), "outdated");
    assert.equal(certificateState({ ...question, wanted: wantedClientCertificate(platformNames, "n2") }), "outdated");
    assert.equal(certificateState({ ...question, wanted: { ...wanted, keyType: "RSA 2048" } }), "outdated");
    assert.equal(certificateState({ ...question, isSpecificationChanged: true }), "outdated");
    const { notBefore, notAfter } = certificate;
    const ofOthers = certificateFor({ ...wanted, organizations: ["others"] }, { notBefore, notAfter });
    assert.equal(certificateState({ ...question, certificate: ofOthers }), "outdated");
    const fewer = { ...wanted, subjectAltNames: { ...wanted.subjectAltNames, ipAddresses: [] } };
    assert.equal(certificateState({ ...question, wanted: fewer }), "current");
  });

  it("is recalled when the turn of one that was issued before the recall has come, in the half hour after six minutes", () => {
    assert.equal(recallTime(certificate, 1_000_001), recallTime(certificate, 1_000_001));
    const ofMachines = Array.from({ length: 60 }, () => {
      const { notBefore, notAfter } = certificate;
      return (recallTime(certificateFor(wanted, { notBefore, notAfter }), 1_000_001) - 1_000_001) / 60_000;
    });
    const [first, last] = [Math.min(...ofMachines), Math.max(...ofMachines)];
    assert.ok(first >= 6 && last < 36 && last - first > 15, `from ${first} to ${last} minutes`);
    assert.equal(recallTime(certificate, 1_000_000), Infinity);
    assert.equal(recallTime(undefined, 1_000_001), Infinity);
    assert.equal(certificateState({ ...question, recallAt: question.now }), "recalled");
    assert.equal(certificateState({ ...question, recallAt: question.now + 1 }), "current");
  });

  it("is recalled by no time without an offset from UTC, which each machine would read in its own time zone", () => {
    const recalledBy = (text: string): number =>
      latestRecall([{ metadata: { annotations: { "signet.platform.io/renew-issued-before": text } } }], {
        names: platformNames,
        now: Infinity,
      });
    assert.equal(recalledBy("2026-11-29T07:00:00Z"), Date.UTC(2026, 10, 29, 7));
    assert.equal(recalledBy("2026-11-29T08:00:00.5+01:00"), Date.UTC(2026, 10, 29, 7) + 500);
    for (const text of [
      "2026-11-29T07:00:00",
      "2026-11-29T07:00",
      "2026-11-29T07:00:00Z (x)",
      "2026-13-29T07:00:00Z",
    ]) {
      assert.equal(recalledBy(text), 0, text);
    }
  });

  it("is current when its signer made it for fewer sides of TLS than asked for", () => {
    assert.equal(certificateState({ ...question, wanted: bothSides }), "current");
  });

  it("is for those sides of TLS that it names, or for all when it names none", () => {
    const { extendedKeyUsages: _, ...unrestricted } = certificate;
    const forAll = { ...certificate, extendedKeyUsages: [extendedKeyUsages.any] };
    assert.deepEqual(tlsUsagesOf(certificate, bothSides), ["server auth"]);
    assert.deepEqual(tlsUsagesOf(unrestricted, bothSides), ["client auth", "server auth"]);
    assert.deepEqual(tlsUsagesOf(forAll, bothSides), ["client auth", "server auth"]);
    assert.deepEqual(tlsUsagesOf(forAll, { ...wanted, usages: ["code signing"] }), []);
  });

  it("is for no side of TLS when it is a CA, its key may not sign, or programs do not know a critical extension", () => {
    for (const [fault, spoilt] of [
      ["it is a CA", { isCA: true }],
      ["its key usage lacks digital signature", { keyUsages: ["crlSign"] }],
      ["its extension 1.2.3.4 is critical and not known", { unhandledCriticalExtensions: ["1.2.3.4"] }],
    ] as const) {
      assert.equal(tlsFault({ ...certificate, ...spoilt }), fault);
      assert.deepEqual(tlsUsagesOf({ ...certificate, ...spoilt }, bothSides), []);
    }
    const { keyUsages: _, ...forEveryUse } = certificate;
    for (const good of [certificate, forEveryUse]) assert.equal(tlsFault(good), undefined);
  });
});

test("the next step is a request when one is needed and no delay after a failure runs", () => {
  const calm = {
    certificate: "current",
    dueInMilliseconds: 5000,
    isRenewalRequested: false,
    hasPendingRequest: false,
    retryInMilliseconds: 0,
  } as const;
  assert.deepEqual(nextStep(calm), { do: "wait", milliseconds: 5000 });
  assert.deepEqual(nextStep({ ...calm, retryInMilliseconds: 70 }), { do: "wait", milliseconds: 5000 });
  for (const certificate of ["missing", "refused", "expired", "outdated", "recalled", "due"] as const) {
    assert.deepEqual(nextStep({ ...calm, certificate }), { do: "request", cause: certificate });
    assert.deepEqual(nextStep({ ...calm, certificate, retryInMilliseconds: 70 }), { do: "wait", milliseconds: 70 });
  }
  assert.deepEqual(nextStep({ ...calm, isRenewalRequested: true }), { do: "request", cause: "requested" });
  assert.deepEqual(nextStep({ ...calm, hasPendingRequest: true }), { do: "request", cause: "unfinished" });
});

describe("a request", () => {
  const created = "2026-01-01T00:00:00Z";
  const request = (status: CertificateSigningRequest["status"]): CertificateSigningRequest => ({
    apiVersion: "certificates.platform.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "r", creationTimestamp: created },
    spec: { request: "", signerName: "s" },
    status,
  });
  const condition = (type: string) => ({ type, status: "True", reason: "Why", message: "because" });

  it("was refused for the reason of its condition", () => {
    const reasonOf = (...types: readonly string[]): string =>
      refusalReason(request({ conditions: types.map(condition) }));
    assert.equal(reasonOf("Denied"), "Denied (Why): because");
    assert.equal(reasonOf("Approved", "Failed"), "Failed (Why): because");
  });
});

test("a node requests with its own certificate while that is valid, and otherwise with its bootstrap credential", () => {
  const certificate = certificateFor(wantedClientCertificate(platformNames, "n"), { notBefore: 0, notAfter: 10_000 });
  const question = { certificate, isRefused: false, hasBootstrap: true, now: 5000 };
  assert.equal(requestIdentity(question), "node");
  assert.equal(requestIdentity({ ...question, now: 10_000 }), "node");
  assert.equal(requestIdentity({ ...question, now: 10_001 }), "bootstrap");
  assert.equal(requestIdentity({ ...question, isRefused: true }), "bootstrap");
  assert.equal(requestIdentity({ ...question, certificate: undefined }), "bootstrap");
  assert.equal(requestIdentity({ ...question, now: 10_001, hasBootstrap: false }), "node");
  assert.equal(requestIdentity({ ...question, certificate: undefined, hasBootstrap: false }), undefined);
});
