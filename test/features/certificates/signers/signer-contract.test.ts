import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import { verifyChain } from "../../../../src/pki/certificates/certificate-chain.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { formatDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import type { KeyType } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { configuredSignerRules } from "../../../../src/features/certificates/signers/configured-signer.ts";
import { parseSignerConfiguration } from "../../../../src/features/certificates/signers/parse-signer-configuration.ts";
import { wellKnownSigners } from "../../../../src/features/certificates/signers/well-known-signers.ts";
import { issueCertificate } from "../../../../src/features/certificates/signers/issue.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

/** The signers of the example file, as `--signer-config` reads them. */
const exampleFile = resolve(import.meta.dirname, "../../../../examples/signers.yaml");
const configuredSigners = parseSignerConfiguration(readFileSync(exampleFile, "utf8"), exampleFile).map(
  (specification) => ({
    ...configuredSignerRules(specification),
    name: specification.name,
    lifetime: specification.lifetime,
  }),
);
const ownSigners = wellKnownSigners.map((signer) => ({
  faults: signer.faults,
  name: signer.nameIn(platformNames),
  lifetime: { maximumSeconds: 86_400, defaultSeconds: 86_400 },
}));

interface AcceptableRequest {
  readonly subject: Parameters<typeof createCertificateRequestPem>[0]["subject"];
  readonly subjectAltNames: SubjectAltNames;
  readonly usages: readonly string[];
  readonly usage: "clientAuth" | "serverAuth";
  /** Default: every one. */
  readonly keys?: readonly KeyType[];
}

/** A request that each signer takes. A new signer adds its own here, and everything below runs over it. */
const acceptableRequests = new Map<string, AcceptableRequest>([
  [
    "example.com/services",
    {
      subject: { commonName: "shop.services.example.com", organizations: ["Example"] },
      subjectAltNames: {
        ...noSubjectAltNames,
        dnsNames: ["shop.services.example.com", "eu.shop.services.example.com"],
        ipAddresses: ["10.20.3.4"],
      },
      usages: ["server auth", "digital signature"],
      usage: "serverAuth",
      keys: ["ECDSA P-256", "Ed25519"],
    },
  ],
  [
    "example.com/workloads",
    {
      subject: {},
      subjectAltNames: { ...noSubjectAltNames, uris: ["spiffe://example.com/ns/shop/sa/web"] },
      usages: ["client auth", "digital signature"],
      usage: "clientAuth",
      keys: ["ECDSA P-256"],
    },
  ],
  [
    signerNames.apiserverClient(platformNames),
    {
      subject: { commonName: "Zoë & Co, 日本", organizations: ["dev", "ops"], countries: ["DE"] },
      subjectAltNames: {
        ...noSubjectAltNames,
        uris: ["spiffe://example.com/zoe"],
        emailAddresses: ["zoe@example.com"],
      },
      usages: ["client auth", "digital signature"],
      usage: "clientAuth",
    },
  ],
  [
    signerNames.apiserverClientNodeAgent(platformNames),
    {
      subject: { commonName: "system:node:n1", organizations: ["system:nodes"] },
      subjectAltNames: noSubjectAltNames,
      usages: ["client auth", "digital signature", "key encipherment"],
      usage: "clientAuth",
    },
  ],
  [
    signerNames.nodeAgentServing(platformNames),
    {
      subject: { commonName: "system:node:n1", organizations: ["system:nodes"] },
      subjectAltNames: {
        ...noSubjectAltNames,
        dnsNames: ["n1.example.com", "n1"],
        ipAddresses: ["10.0.0.1", "fd00::1"],
      },
      usages: ["server auth", "digital signature"],
      usage: "serverAuth",
    },
  ],
]);

const authorityKeys: readonly KeyType[] = ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "RSA 2048", "Ed25519"];
const requestKeys: readonly KeyType[] = ["ECDSA P-256", "RSA 2048", "Ed25519"];
const now = Math.floor(Date.now() / 1000) * 1000;
const directory = temporaryFolder();

const authorities = authorityKeys.map((keyType) => ({
  keyType,
  authority: createCertificateAuthority({
    subject: { commonName: `${keyType} CA`, organizations: ["Signet"] },
    privateKey: generatePrivateKey(keyType),
    notBefore: now - 3_600_000,
    notAfter: now + 30 * 86_400_000,
  }),
}));
const privateKeys = requestKeys.map((keyType) => ({ keyType, privateKey: generatePrivateKey(keyType) }));

for (const signer of [...ownSigners, ...configuredSigners]) {
  describe(`the signer ${signer.name}`, () => {
    const acceptable = acceptableRequests.get(signer.name);
    assert.ok(acceptable, "has an acceptable request in this suite");

    for (const { keyType: authorityKey, authority } of authorities) {
      for (const { keyType, privateKey } of privateKeys) {
        if (acceptable.keys?.includes(keyType) === false) continue;
        it(`issues what every reader accepts for a ${keyType} key under a ${authorityKey} CA`, () => {
          const request = parseCertificateRequestPem(createCertificateRequestPem({ privateKey, ...acceptable }));
          assert.deepEqual(signer.faults(request, acceptable.usages), []);
          const { certificate, pem } = issueCertificate({
            request,
            usages: acceptable.usages,
            expirationSeconds: 3600,
            authority,
            maximumLifetimeSeconds: signer.lifetime.maximumSeconds,
            now,
          });

          assert.equal(formatDistinguishedName(certificate.subject), formatDistinguishedName(request.subject));
          assert.deepEqual(certificate.subjectAltNames, request.subjectAltNames);
          assert.equal(certificate.isCA, false);
          assert.equal(certificate.notAfter, now + 3_600_000);
          const answer = verifyChain({
            leaf: certificate,
            intermediates: [],
            roots: [authority.certificate],
            now,
            requiredUsage: acceptable.usage,
          });
          assert.equal(answer.isValid, true);

          // What was issued, read again, still keeps the signer's rules, and never outlives what it gives.
          assert.deepEqual(signer.faults({ ...request, ...parseCertificate(certificate.der) }, acceptable.usages), []);
          assert.ok(certificate.notAfter - now <= signer.lifetime.maximumSeconds * 1000);

          const byNode = new X509Certificate(pem);
          assert.ok(byNode.verify(new X509Certificate(authority.certificate.der).publicKey));
          assert.ok(byNode.checkPrivateKey(privateKey));
          assert.equal(byNode.ca, false);
          assert.equal(byNode.serialNumber.length, 40);

          const caFile = join(directory, "ca.pem");
          const leafFile = join(directory, "leaf.pem");
          writeFileSync(caFile, encodePem("CERTIFICATE", authority.certificate.der));
          writeFileSync(leafFile, pem);
          const purpose = acceptable.usage === "clientAuth" ? "sslclient" : "sslserver";
          const verified = execFileSync(
            "openssl",
            ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", caFile, leafFile],
            { encoding: "utf8" },
          );
          assert.match(verified, /: OK\n$/);
          const der = execFileSync("openssl", ["x509", "-in", leafFile, "-outform", "DER"]);
          assert.deepEqual(parseCertificate(der).der, certificate.der);
        });
      }
    }

    it("refuses usages that it does not issue", () => {
      const request = parseCertificateRequestPem(
        createCertificateRequestPem({ privateKey: privateKeys[0]!.privateKey, ...acceptable }),
      );
      assert.notDeepEqual(signer.faults(request, ["code signing"]), []);
      assert.notDeepEqual(signer.faults(request, []), []);
      assert.notDeepEqual(signer.faults(request, [...acceptable.usages, "any"]), []);
    });
  });
}
