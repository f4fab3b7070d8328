import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  isCertificateFor,
  wantedDigest,
  wantedServiceCertificate,
} from "../../../src/agent/certificates/wanted-certificate.ts";
import type { WantedCertificate } from "../../../src/agent/certificates/wanted-certificate.ts";
import { certificateFor } from "../issued-certificate.ts";

const machine = { nodeName: "n1", dnsNames: ["n1.lan"], ipAddresses: ["10.0.0.1", "fe80::1"] };
const service = {
  name: "web",
  signerName: "example.com/services",
  commonName: "${node}.example.com",
  organizations: ["web", "${node}"],
  dnsNames: ["web.example.com", "${node}.${node}.example.com"],
  ipAddresses: ["192.0.2.1", "${address}"],
  emailAddresses: ["${node}@example.com"],
  uris: ["spiffe://example.com/${node}/web"],
  usages: ["digital signature", "server auth"],
  keyType: "ECDSA P-256",
  lifetimeSeconds: undefined,
  renewalShare: undefined,
  outputs: [],
  hook: undefined,
} as const;

describe("the wanted certificate of a service", () => {
  const wanted = wantedServiceCertificate(service, machine);

  it("has the Node's name in each of its names, and all addresses of the machine in place of ${address}", () => {
    assert.deepEqual(wanted, {
      signerName: "example.com/services",
      commonName: "n1.example.com",
      organizations: ["web", "n1"],
      subjectAltNames: {
        dnsNames: ["web.example.com", "n1.n1.example.com"],
        ipAddresses: ["192.0.2.1", "10.0.0.1", "fe80::1"],
        emailAddresses: ["n1@example.com"],
        uris: ["spiffe://example.com/n1/web"],
      },
      usages: ["digital signature", "server auth"],
      keyType: "ECDSA P-256",
    });
  });

  it("is any certificate that has at least its subject and its names", () => {
    const { subjectAltNames } = wanted;
    const issued = (change: Partial<WantedCertificate>) =>
      certificateFor({ ...wanted, ...change }, { notBefore: 0, notAfter: 1000 });
    const without = (kind: keyof typeof subjectAltNames) =>
      issued({ subjectAltNames: { ...subjectAltNames, [kind]: [] } });
    assert.ok(isCertificateFor(issued({}), wanted));
    assert.ok(isCertificateFor(issued({ organizations: ["more", ...wanted.organizations] }), wanted));
    for (const [what, lacking] of Object.entries({
      "its common name": issued({ commonName: "web.example.com" }),
      "one organization": issued({ organizations: ["web"] }),
      "its DNS names": without("dnsNames"),
      "its addresses": without("ipAddresses"),
      "its e-mail addresses": without("emailAddresses"),
      "its URIs": without("uris"),
      "one DNS name": issued({ subjectAltNames: { ...subjectAltNames, dnsNames: ["web.example.com"] } }),
    })) {
      assert.ok(!isCertificateFor(lacking, wanted), what);
    }
  });

  it("has another digest for each thing that is wanted otherwise, also when a certificate does not show it", () => {
    const digests = [
      wantedDigest(wanted, undefined),
      wantedDigest(wanted, 3600),
      wantedDigest(wanted, 7200),
      wantedDigest({ ...wanted, usages: ["server auth"] }, undefined),
      wantedDigest({ ...wanted, signerName: "example.com/others" }, undefined),
    ];
    assert.equal(new Set(digests).size, digests.length);
    assert.equal(wantedDigest(wantedServiceCertificate(service, machine), undefined), digests[0]);
  });
});
