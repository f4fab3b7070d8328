import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import {
  parseCertificateRequest,
  parseCertificateRequestPem,
} from "../../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import {
  encodeBitString,
  encodedTrue,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSetOf,
  encodeSmallInteger,
} from "../../../../src/pki/der/der-writer.ts";
import { encodeDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { extendedKeyUsages, oids } from "../../../../src/pki/der/object-identifiers.ts";
import { signData, signatureSchemeOf } from "../../../../src/pki/keys/sign.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { keyInProcess } from "../../../../src/pki/keys/signing-key.ts";
import type { SigningKey } from "../../../../src/pki/keys/signing-key.ts";
import {
  issueCertificate,
  issueCertificateWith,
  lifetimeSeconds,
} from "../../../../src/features/certificates/signers/issue.ts";
import type { IssueOptions } from "../../../../src/features/certificates/signers/issue.ts";
import { certificateUsagesOf } from "../../../../src/features/certificates/signers/usages.ts";
import { encodeExtension } from "../../../../src/pki/certificates/extension.ts";
import { intermediateOf } from "../certificate-loop-scene.ts";

const now = Date.UTC(2026, 10, 21, 10, 0, 0);
const hour = 3600;
const privateKey = generatePrivateKey("ECDSA P-256");
const authority = createCertificateAuthority({
  subject: { commonName: "ca" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: now - 1000 * hour,
  notAfter: now + 48 * hour * 1000,
});
const request = parseCertificateRequestPem(
  createCertificateRequestPem({ privateKey, subject: { commonName: "a" }, subjectAltNames: noSubjectAltNames }),
);
const issue = (changes: Partial<IssueOptions> = {}): ReturnType<typeof issueCertificate>["certificate"] =>
  issueCertificate({
    request,
    usages: ["client auth"],
    expirationSeconds: undefined,
    authority,
    maximumLifetimeSeconds: 24 * hour,
    now,
    ...changes,
  }).certificate;
const secondsAfterNow = (milliseconds: number): number => (milliseconds - now) / 1000;

describe("lifetimeSeconds", () => {
  it("is the requested lifetime, but at least ten minutes and at most the maximum", () => {
    assert.equal(lifetimeSeconds(undefined, 5000), 5000);
    assert.equal(lifetimeSeconds(1000, 5000), 1000);
    assert.equal(lifetimeSeconds(6000, 5000), 5000);
    assert.equal(lifetimeSeconds(1, 5000), 600);
    assert.equal(lifetimeSeconds(600, 60), 60);
  });
});

describe("issueCertificate", () => {
  it("starts five minutes ago, so that clocks may differ", () => {
    assert.equal(secondsAfterNow(issue().notBefore), -300);
  });

  it("keeps short lifetimes whole and backdates long ones by five minutes", () => {
    assert.equal(secondsAfterNow(issue({ expirationSeconds: 8 * hour - 1 }).notAfter), 8 * hour - 1);
    assert.equal(secondsAfterNow(issue({ expirationSeconds: 8 * hour }).notAfter), 8 * hour - 300);
    assert.equal(secondsAfterNow(issue().notAfter), 24 * hour - 300);
  });

  it("hands out nothing that the CA's key has not signed, or that another CA's name is on", async () => {
    const { publicKey, sign } = keyInProcess(authority.privateKey);
    const other = createCertificateAuthority({
      subject: { commonName: "other" },
      privateKey: generatePrivateKey("ECDSA P-256"),
      notBefore: now,
      notAfter: now + hour * 1000,
    });
    const by = (certificate: Certificate, signing: SigningKey["sign"]) =>
      issueCertificateWith({
        request,
        usages: ["client auth"],
        expirationSeconds: undefined,
        authority: { certificate, privateKey: { publicKey, sign: signing } },
        maximumLifetimeSeconds: hour,
        now,
      });
    assert.equal((await by(authority.certificate, sign)).certificate.subject.commonName, "a");
    const failure = { name: "PkiError", message: "x509: ECDSA verification failure" };
    await assert.rejects(by(authority.certificate, keyInProcess(other.privateKey).sign), failure);
    await assert.rejects(by(other.certificate, sign), failure);
    assert.throws(() => issue({ authority: { ...authority, certificate: other.certificate } }), failure);
  });

  it("never outlives its CA", () => {
    const certificate = issue({ maximumLifetimeSeconds: 1000 * hour });
    assert.equal(certificate.notAfter, authority.certificate.notAfter);
    assert.throws(() => issue({ now: authority.certificate.notAfter }), /the signer has expired/);
  });

  it("never outlives a CA above its CA", () => {
    const root = createCertificateAuthority({
      subject: { commonName: "root" },
      privateKey: generatePrivateKey("ECDSA P-256"),
      notBefore: now - 1000 * hour,
      notAfter: now + hour * 1000,
    });
    const below = { ...authority, path: [authority.certificate, root.certificate] };
    assert.equal(issue({ authority: below }).notAfter, root.certificate.notAfter);
    assert.throws(() => issue({ authority: below, now: root.certificate.notAfter }), /the signer has expired/);
  });

  it("gives every certificate a unique serial number, positive and of 159 bits", () => {
    const serialNumbers = Array.from({ length: 50 }, () => issue().serialNumber);
    assert.equal(new Set(serialNumbers.map((one) => one.toString("hex"))).size, 50);
    assert.ok(serialNumbers.every((one) => one.length === 20 && (one[0] ?? 0) >= 0x40 && (one[0] ?? 0) < 0x80));
  });

  it("copies only the names of a request for a CA", () => {
    const extension = (id: string, value: Buffer): Buffer => encodeExtension({ id, isCritical: true, value });
    const extensions = encodeSequence(
      extension(oids.basicConstraints, encodeSequence(encodedTrue)),
      extension(oids.keyUsage, encodeBitString(Buffer.of(0x06), 1)),
      extension("1.2.3.4", encodeElement(0x05)),
      extension(oids.subjectAltName, encodeSequence(encodeElement(0x82, Buffer.from("a.example.com")))),
    );
    const attribute = encodeSequence(encodeObjectIdentifier(oids.extensionRequest), encodeSetOf([extensions]));
    const info = encodeSequence(
      encodeSmallInteger(0),
      encodeDistinguishedName({ commonName: "a" }),
      publicKeyInfoOf(privateKey).spki,
      encodeElement(0xa0, attribute),
    );
    const { algorithmIdentifier } = signatureSchemeOf(privateKey);
    const der = encodeSequence(info, algorithmIdentifier, encodeBitString(signData(info, privateKey)));
    const certificate = issue({ request: parseCertificateRequest(der) });
    assert.equal(certificate.isCA, false);
    assert.equal(certificate.keyUsages, undefined);
    assert.deepEqual(certificate.subjectAltNames.dnsNames, ["a.example.com"]);
    assert.deepEqual(
      certificate.extensions.map(({ id }) => id),
      [oids.extendedKeyUsage, oids.basicConstraints, oids.authorityKeyIdentifier, oids.subjectAltName],
    );
  });

  it("refuses a name that programs read in different ways, whoever asks for it", () => {
    const issueFor = (type: "dnsNames" | "emailAddresses", name: string) => {
      const subjectAltNames = { ...noSubjectAltNames, [type]: ["a.example.com", name] };
      const pem = createCertificateRequestPem({ privateKey, subject: { commonName: "a" }, subjectAltNames });
      return issue({ request: parseCertificateRequestPem(pem) }).subjectAltNames[type];
    };
    for (const type of ["dnsNames", "emailAddresses"] as const) {
      assert.deepEqual(issueFor(type, "b.example.com"), ["a.example.com", "b.example.com"]);
      for (const name of ["", " a", "a ", "a\0b"]) {
        assert.throws(() => issueFor(type, name), /a blank or a control character/, `${type} ${name}`);
      }
    }
  });

  it("refuses a subject with a control character, and a key that is not fit for use", () => {
    const subject = { commonName: "a", organizations: ["system:masters\0"] };
    const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: noSubjectAltNames });
    assert.throws(() => issue({ request: parseCertificateRequestPem(pem) }), /has a control character in it/);
    const weak = { ...request, publicKey: { ...request.publicKey, weakness: "it is even" } };
    assert.throws(() => issue({ request: weak }), { message: "the key is not fit for use: it is even" });
  });

  it("refuses an extended key usage that a CA does not pass on", () => {
    const issueBelow = (...usages: ("clientAuth" | "serverAuth" | "any")[]) =>
      issue({ authority: intermediateOf(authority, "below", { extendedKeyUsages: usages }) }).extendedKeyUsages;
    for (const passedOn of [[], ["clientAuth"], ["serverAuth", "any"]] as const) {
      assert.deepEqual(issueBelow(...passedOn), [extendedKeyUsages.clientAuth]);
    }
    const refusal = { message: "the extended key usages of the CA do not include clientAuth" };
    assert.throws(() => issueBelow("serverAuth"), refusal);
    const servers = intermediateOf(authority, "servers", { extendedKeyUsages: ["serverAuth"] });
    const below = intermediateOf(servers, "below");
    const path = [below.certificate, servers.certificate, authority.certificate];
    assert.throws(() => issue({ authority: { ...below, path } }), refusal, "of a CA above its own");
  });

  it("refuses unknown usages", () => {
    assert.throws(
      () => issue({ usages: ["client auth", "world domination"] }),
      /unrecognized usage values: \["world domination"\]/,
    );
  });

  it("refuses to return a certificate that its CA's key did not sign", () => {
    const impostor = { ...authority, privateKey: generatePrivateKey("ECDSA P-256") };
    assert.throws(() => issue({ authority: impostor }), { message: "x509: ECDSA verification failure" });
  });

  it("puts usages into the certificate", () => {
    const certificate = issue({
      usages: ["digital signature", "decipher only", "server auth", "client auth", "signing"],
    });
    assert.deepEqual(certificate.keyUsages, ["digitalSignature", "decipherOnly"]);
    assert.deepEqual(certificate.extendedKeyUsages, [extendedKeyUsages.serverAuth, extendedKeyUsages.clientAuth]);
  });

  it("gives each usage its bit (RFC 5280 4.2.1.3), or its object identifier, and nothing more", () => {
    const valuesOf = (usage: string): (string | undefined)[] => {
      const { extensions } = issue({ usages: [usage] });
      return [oids.keyUsage, oids.extendedKeyUsage].map((wanted) =>
        extensions.find(({ id }) => id === wanted)?.value.toString("hex"),
      );
    };
    for (const [usage, bits] of Object.entries({
      ...{ signing: "03020780", "digital signature": "03020780", "content commitment": "03020640" },
      ...{ "key encipherment": "03020520", "data encipherment": "03020410", "key agreement": "03020308" },
      ...{ "cert sign": "03020204", "crl sign": "03020102", "encipher only": "03020001" },
      ...{ "decipher only": "0303070080" },
    })) {
      assert.deepEqual(valuesOf(usage), [bits, undefined], usage);
    }
    const purpose = "1.3.6.1.5.5.7.3";
    for (const [usage, id] of Object.entries({
      ...{ any: "2.5.29.37.0", "server auth": `${purpose}.1`, "client auth": `${purpose}.2` },
      ...{ "code signing": `${purpose}.3`, "email protection": `${purpose}.4`, "s/mime": `${purpose}.4` },
      ...{ "ipsec end system": `${purpose}.5`, "ipsec tunnel": `${purpose}.6`, "ipsec user": `${purpose}.7` },
      ...{ timestamping: `${purpose}.8`, "ocsp signing": `${purpose}.9` },
      ...{ "microsoft sgc": "1.3.6.1.4.1.311.10.3.3", "netscape sgc": "2.16.840.1.113730.4.1" },
    })) {
      assert.deepEqual(valuesOf(usage), [undefined, encodeSequence(encodeObjectIdentifier(id)).toString("hex")], usage);
    }
  });
});

describe("certificateUsagesOf", () => {
  it("knows all 23 usages", () => {
    const usages =
      "signing,digital signature,content commitment,key encipherment,key agreement,data encipherment,cert sign,crl sign," +
      "encipher only,decipher only,any,server auth,client auth,code signing,email protection,s/mime,ipsec end system," +
      "ipsec tunnel,ipsec user,timestamping,ocsp signing,microsoft sgc,netscape sgc";
    const { keyUsages, extendedKeyUsages: extended, unrecognized } = certificateUsagesOf(usages.split(","));
    assert.deepEqual([keyUsages.length, extended.length, unrecognized], [9, 12, []]);
    assert.deepEqual(certificateUsagesOf(["constructor", "Client Auth"]).unrecognized, ["constructor", "Client Auth"]);
  });
});
