import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
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
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { SignerRules } from "../../../../src/features/certificates/signers/signer.ts";

const dnsName = "a.services.example.com";
const privateKey = generatePrivateKey("ECDSA P-256");
const everySubject = { commonNames: ["*", ""], organizations: ["*"] };

/** The rules of a signer with these fields. */
function rulesOf(fields: object): SignerRules {
  const signer = {
    name: "example.com/services",
    certificateAuthority: { generate: { commonName: "Example CA" } },
    dnsNames: ["*.services.example.com"],
    ...fields,
  };
  const document = { apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration", signers: [signer] };
  const [specification = assert.fail()] = parseSignerConfiguration(stringify(document), "/signers.yaml");
  return configuredSignerRules(specification);
}

/** Why a signer that may sign these subjects refuses one: one subject, or several as one. */
function refusal(allowed: object, ...subjects: readonly DistinguishedNameParts[]): string {
  const subjectAltNames = { ...noSubjectAltNames, dnsNames: [dnsName] };
  const request = parseCertificateRequestPem(createCertificateRequestPem({ privateKey, subject: {}, subjectAltNames }));
  const parts = subjects.map((one) => new DerReader(encodeDistinguishedName(one)).readElement().content);
  const subject = parseDistinguishedName(encodeSequence(...parts));
  return rulesOf({ subject: allowed })
    .faults({ ...request, subject }, ["server auth"])
    .join("; ");
}

/** Why a signer with these fields refuses a request with these names and this key. */
function refusalOf(fields: object, names: Partial<SubjectAltNames>, key: KeyObject = privateKey): string {
  const subjectAltNames = { ...noSubjectAltNames, ...names };
  const request = parseCertificateRequestPem(
    createCertificateRequestPem({ privateKey: key, subject: {}, subjectAltNames }),
  );
  return rulesOf(fields).faults(request, ["server auth"]).join("; ");
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

  it("signs keys of the types in its list, and RSA keys that are larger, by default those of every type", () => {
    const keys = new Map(
      (["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA 2048", "RSA 3072", "RSA 4096"] as const).map(
        (type) => [type, generatePrivateKey(type)],
      ),
    );
    const signed = (keyTypes?: readonly string[]): string[] =>
      [...keys].flatMap(([type, key]) => {
        const refused = refusalOf({ keyTypes }, { dnsNames: [dnsName] }, key);
        assert.ok(["", `keyTypes: ${JSON.stringify(type)} is not allowed`].includes(refused), refused);
        return refused === "" ? [type] : [];
      });
    assert.deepEqual(signed(), [...keys.keys()]);
    for (const type of ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA 4096"])
      assert.deepEqual(signed([type]), [type]);
    assert.deepEqual(signed(["RSA 3072"]), ["RSA 3072", "RSA 4096"]);
    assert.deepEqual(signed(["Ed25519", "RSA 2048"]), ["Ed25519", "RSA 2048", "RSA 3072", "RSA 4096"]);
  });

  it("signs names of each kind where a pattern allows them, in which one wildcard stays within its part", () => {
    for (const [field, pattern, good, bad] of [
      ["dnsNames", "*.example.com", { dnsNames: ["a.example.com"] }, { dnsNames: ["a.b.example.com"] }],
      [
        "uris",
        "spiffe://a.test/ns/*/sa/b",
        { uris: ["spiffe://a.test/ns/x/sa/b"] },
        { uris: ["spiffe://a.test/ns/x/y/sa/b"] },
      ],
      [
        "emailAddresses",
        "*@example.com",
        { emailAddresses: ["a@example.com"] },
        { emailAddresses: ["a@b.example.com"] },
      ],
      ["ipRanges", "10.0.0.0/8", { ipAddresses: ["10.1.2.3"] }, { ipAddresses: ["11.1.2.3"] }],
    ] as const) {
      const [[, [name = ""]] = assert.fail()] = Object.entries(bad);
      assert.equal(refusalOf({ [field]: [pattern] }, good), "", field);
      assert.equal(refusalOf({ [field]: [pattern] }, bad), `${field}: ${JSON.stringify(name)} is not allowed`);
      const other = field === "uris" ? { dnsNames: ["a.test"] } : { uris: ["urn:*"], dnsNames: undefined };
      assert.match(refusalOf(other, good), new RegExp(`^${field}: .* is not allowed$`), "a kind that it leaves out");
    }
  });
});
