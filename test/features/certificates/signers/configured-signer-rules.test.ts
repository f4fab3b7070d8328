import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stringify } from "yaml";
import { configuredSignerRules } from "../../../../src/features/certificates/signers/configured-signer.ts";
import { parseSignerConfiguration } from "../../../../src/features/certificates/signers/parse-signer-configuration.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { encodeSequence } from "../../../../src/pki/der/der-writer.ts";
import { DerReader } from "../../../../src/pki/der/der.ts";
import { encodeDistinguishedName, parseDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";

const dnsName = "a.services.example.com";
const privateKey = generatePrivateKey("ECDSA P-256");
const everySubject = { commonNames: ["*", ""], organizations: ["*"] };

/** Why a signer that may sign these subjects refuses one: one subject, or several as one. */
function refusal(allowed: object, ...subjects: readonly DistinguishedNameParts[]): string {
  const signer = {
    name: "example.com/services",
    certificateAuthority: { generate: { commonName: "Example CA" } },
    dnsNames: ["*.services.example.com"],
    subject: allowed,
  };
  const document = { apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration", signers: [signer] };
  const [specification = assert.fail()] = parseSignerConfiguration(stringify(document), "/signers.yaml");
  const subjectAltNames = { ...noSubjectAltNames, dnsNames: [dnsName] };
  const request = parseCertificateRequestPem(createCertificateRequestPem({ privateKey, subject: {}, subjectAltNames }));
  const parts = subjects.map((one) => new DerReader(encodeDistinguishedName(one)).readElement().content);
  const subject = parseDistinguishedName(encodeSequence(...parts));
  return configuredSignerRules(specification)
    .faults({ ...request, subject }, ["server auth"])
    .join("; ");
}

describe("a configured signer", () => {
  it("signs the common names and organizations that its patterns allow, by default a DNS name or none", () => {
    for (const [allowed, subject, wanted] of [
      [{}, {}, ""],
      [{}, { commonName: dnsName }, ""],
      [{}, { commonName: "root" }, 'subject.commonNames: "root" is not allowed'],
      [{ commonNames: ["web-*"] }, { commonName: "web-1" }, ""],
      [{ commonNames: ["web-*"] }, { commonName: dnsName }, `subject.commonNames: "${dnsName}" is not allowed`],
      [{}, { organizations: ["Example"] }, 'subject.organizations: "Example" is not allowed'],
      [everySubject, { commonName: "root", organizations: ["Example"] }, ""],
    ] as const) {
      assert.equal(refusal(allowed, subject), wanted, JSON.stringify([allowed, subject]));
    }
  });

  it("signs no user or group of the system, and no two common names, whatever its patterns allow", () => {
    for (const name of ["system:masters", "system:node:n1", "System:admin", " system:masters"]) {
      assert.match(refusal(everySubject, { commonName: name }), /^subject\.commonNames: .* is not allowed$/, name);
      assert.match(
        refusal(everySubject, { organizations: [name] }),
        /^subject\.organizations: .* is not allowed$/,
        name,
      );
    }
    const several = refusal(everySubject, { commonName: "alice" }, { commonName: "bob" });
    assert.equal(several, "subject: only one common name is allowed");
  });
});
