import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unrenewedCertificates } from "../../../../src/features/certificates/commands/unrenewed-certificates.ts";
import type { IssuedCertificate } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { encodeCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import type { KeyType } from "../../../../src/pki/keys/keys.ts";
import { RevokedCertificates } from "../../../../src/features/revocation/index.ts";
import { namesFor } from "../../../../src/machinery/api/names.ts";

const names = namesFor("platform", { hasUpstreamNames: true });
const services = "example.com/services";
const nodes = "platform.io/apiserver-client-nodeagent";

const bundle = (signerName: string, { name, recall }: { readonly name: string; readonly recall: string }) => ({
  apiVersion: "certificates.platform.io/v1beta1",
  kind: "ClusterTrustBundle",
  metadata: { name, annotations: { "signet.platform.io/renew-issued-before": recall } },
  spec: { signerName, trustBundle: "" },
});

const record = (
  name: string,
  { created, ...spec }: Partial<IssuedCertificate["spec"]> & { readonly created: string },
): IssuedCertificate => ({
  apiVersion: "signet.platform.io/v1",
  kind: "IssuedCertificate",
  metadata: { name, creationTimestamp: `2026-11-29T${created}Z` },
  spec: {
    signerName: services,
    serialNumber: "1",
    fingerprint: "1",
    notBefore: "2026-11-01T00:00:00Z",
    notAfter: "2026-11-30T00:00:00Z",
    ...spec,
  },
});

describe("the recalled certificates that are not renewed", () => {
  const bundles = [
    bundle(services, { name: "example.com:services:a", recall: "2026-11-29T07:00:00Z" }),
    bundle(services, { name: "example.com:services:b", recall: "2026-11-29T06:00:00Z" }),
    bundle(services, { name: "example.com:services:future", recall: "2026-11-29T09:00:00Z" }),
    bundle(nodes, { name: "platform.io:apiserver-client-nodeagent:ca", recall: "2026-11-29T07:00:00Z" }),
  ];
  const revoked = new RevokedCertificates();
  revoked.add({
    apiVersion: "signet.platform.io/v1",
    kind: "Revocation",
    metadata: { name: "r" },
    spec: { certificate: { fingerprint: "revoked" } },
  });
  const unrenewed = (...records: readonly IssuedCertificate[]): (string | undefined)[] =>
    unrenewedCertificates(records, { names, bundles, revoked, now: Date.UTC(2026, 10, 29, 8) }).map(
      ({ metadata }) => metadata.name,
    );

  it("are those that are valid, not revoked, and were issued before the latest recall of their signer", () => {
    const before = { created: "06:59:59" };
    assert.deepEqual(
      unrenewed(
        record("before", before),
        record("after", { created: "07:00:00", subject: "CN=after" }),
        record("over", { ...before, subject: "CN=over", notAfter: "2026-11-29T07:59:59Z" }),
        record("other", { ...before, signerName: "example.com/other" }),
        record("revoked", { ...before, subject: "CN=revoked", fingerprint: "revoked" }),
      ),
      ["before"],
    );
  });

  it("are not those whose requester has got a younger one with the same names, and only the youngest of those that are left", () => {
    const web = { username: "system:node:n1", dnsNames: ["web"] };
    assert.deepEqual(
      unrenewed(
        record("renewed", { ...web, created: "06:00:00" }),
        record("new", { ...web, created: "07:10:00" }),
        record("other name", { ...web, dnsNames: ["api"], created: "06:00:00" }),
        record("oldest", { ...web, username: "system:node:n2", created: "05:00:00" }),
        record("other machine", { ...web, username: "system:node:n2", created: "06:00:00" }),
      ),
      ["other name", "other machine"],
    );
  });

  it("are those of a program whose other certificate with the same names, of another key type, was renewed", () => {
    const certificateOf = (type: KeyType): string => {
      const made = {
        subject: { commonName: "web" },
        privateKey: generatePrivateKey(type),
        notBefore: 0,
        notAfter: 1000,
      };
      const pem = encodeCertificatesPem([createCertificateAuthority(made).certificate]);
      return Buffer.from(pem).toString("base64");
    };
    const [old, other] = [certificateOf("ECDSA P-256"), certificateOf("Ed25519")];
    assert.deepEqual(
      unrenewed(
        record("old", { dnsNames: ["web"], certificate: old, created: "06:00:00" }),
        record("old of the other type", { dnsNames: ["web"], certificate: other, created: "06:00:00" }),
        record("new", { dnsNames: ["web"], certificate: certificateOf("ECDSA P-256"), created: "07:10:00" }),
      ),
      ["old of the other type"],
    );
  });

  it("are not those of a node that joined with a token and renews as itself", () => {
    const client = { signerName: nodes, subject: "CN=system:node:n1,O=system:nodes" };
    assert.deepEqual(
      unrenewed(
        record("joined", { ...client, username: "system:bootstrap:abcdef", created: "06:00:00" }),
        record("renewed", { ...client, username: "system:node:n1", created: "07:10:00" }),
      ),
      [],
    );
  });

  it("are those of a signer in either spelling of its name", () => {
    const upstream = { signerName: "kubernetes.io/kube-apiserver-client-kubelet" };
    assert.deepEqual(
      unrenewed(
        record("upstream", { ...upstream, subject: "CN=system:node:n1", created: "06:00:00" }),
        record("joined", { ...upstream, subject: "CN=system:node:n2", created: "06:00:00" }),
        record("renewed", { signerName: nodes, subject: "CN=system:node:n2", created: "07:10:00" }),
      ),
      ["upstream"],
    );
  });
});
