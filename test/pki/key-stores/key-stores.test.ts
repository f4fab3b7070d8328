import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import { fingerprintOf } from "../../../src/pki/certificates/certificate.ts";
import { encodeJavaKeyStore, encodeJavaTrustStore } from "../../../src/pki/key-stores/java-key-store.ts";
import type { KeyStoreEntry } from "../../../src/pki/key-stores/key-store-entry.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import type { KeyType } from "../../../src/pki/keys/keys.ts";
import { encodePkcs12, encodePkcs12TrustStore } from "../../../src/pki/key-stores/pkcs12.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const hasKeytool = spawnSync("keytool", ["-help"]).status === 0;
const password = "correct horse: 17 /";

const authority = createCertificateAuthority({
  subject: { commonName: "an intermediate" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: Date.UTC(2025, 0),
  notAfter: Date.UTC(2037, 0),
});

function entry(type: KeyType): KeyStoreEntry {
  const privateKey = generatePrivateKey(type);
  const certificate = signCertificate(
    {
      subject: { commonName: "web", organizations: [] },
      publicKey: publicKeyInfoOf(privateKey),
      notBefore: Date.UTC(2026, 0),
      notAfter: Date.UTC(2036, 0),
      isCA: false,
      keyUsages: ["digitalSignature"],
      extendedKeyUsages: ["serverAuth"],
      subjectAltNames: noSubjectAltNames,
    },
    authority,
  );
  const chain = [certificate, authority.certificate.der];
  return { alias: "web", password, privateKey, chain, createdAt: Date.UTC(2026, 0, 2) };
}

function inFile<T>(contents: Buffer, use: (file: string) => T): T {
  const file = join(temporaryFolder(), "store");
  writeFileSync(file, contents);
  return use(file);
}

const openssl = (...args: readonly string[]): string =>
  execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const keytool = (file: string, type: string, ...args: readonly string[]): string =>
  execFileSync("keytool", ["-keystore", file, "-storetype", type, "-storepass", password, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

describe("a PKCS #12 store", () => {
  it("holds the key and the chain, as openssl reads them, for every type of key", () => {
    for (const type of ["ECDSA P-256", "ECDSA P-384", "RSA 2048", "Ed25519"] as const) {
      const made = entry(type);
      inFile(encodePkcs12(made), (file) => {
        const read = openssl("pkcs12", "-in", file, "-passin", `pass:${password}`, "-nodes");
        const key = read.slice(read.indexOf("-----BEGIN PRIVATE"), read.indexOf("-----END PRIVATE"));
        assert.ok(made.privateKey.export({ format: "pem", type: "pkcs8" }).startsWith(key));
        assert.equal(read.match(/BEGIN CERTIFICATE/g)?.length, 2);
        assert.match(read, /friendlyName: web/);
        assert.equal(spawnSync("openssl", ["pkcs12", "-in", file, "-passin", "pass:wrong", "-nodes"]).status, 1);
      });
    }
  });
});

describe("key stores", () => {
  it("are the same bytes for the same entry, and other bytes for another password", () => {
    const made = entry("ECDSA P-256");
    for (const encode of [encodePkcs12, encodeJavaKeyStore]) {
      assert.deepEqual(encode(made), encode({ ...made }));
      assert.notDeepEqual(encode(made), encode({ ...made, password: "another" }));
    }
  });

  it("are read by Java with key and chain", { skip: !hasKeytool && "keytool is not installed" }, () => {
    for (const [type, encode] of [
      ["PKCS12", encodePkcs12],
      ["JKS", encodeJavaKeyStore],
    ] as const) {
      const made = entry("RSA 2048");
      inFile(encode(made), (file) => {
        const listed = keytool(file, type, "-list", "-v", "-alias", "web");
        assert.match(listed, /Entry type: PrivateKeyEntry/);
        assert.match(listed, /Certificate chain length: 2/);
        // Only whoever can read the key can sign with it.
        assert.match(keytool(file, type, "-certreq", "-alias", "web"), /BEGIN NEW CERTIFICATE REQUEST/);
      });
    }
  });
});

const anchorOf = (commonName: string) =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: Date.UTC(1969, 0),
    notAfter: Date.UTC(2037, 0),
  }).certificate;

describe("trust stores", () => {
  const certificates = ["Services of Example.com", "Services of Example.com", "年", "Bücher", "x".repeat(70_000)].map(
    anchorOf,
  );
  const formats = [
    ["PKCS12", encodePkcs12TrustStore],
    ["JKS", encodeJavaTrustStore],
  ] as const;

  it("are the same bytes for the same certificates in any order, and other bytes for others or another password", () => {
    for (const [, encode] of formats) {
      const made = encode({ certificates, password });
      assert.deepEqual(encode({ certificates: certificates.toReversed(), password }), made);
      assert.notDeepEqual(encode({ certificates, password: "another" }), made);
      assert.notDeepEqual(encode({ certificates: certificates.slice(1), password }), made);
    }
  });

  it("are not made with a certificate without a subject, of which Java would read none of the others", () => {
    const nameless = anchorOf("");
    for (const [, encode] of formats) {
      assert.throws(() => encode({ certificates: [...certificates, nameless], password }), {
        name: "PkiError",
        message: new RegExp(`without a subject or an issuer: SHA-256 ${fingerprintOf(nameless)}$`),
      });
    }
  });

  it("hold every certificate, as openssl reads them", () => {
    inFile(encodePkcs12TrustStore({ certificates, password }), (file) => {
      const read = openssl("pkcs12", "-in", file, "-passin", `pass:${password}`, "-nokeys");
      for (const { der } of certificates) assert.ok(read.includes(der.toString("base64").slice(0, 64)));
      assert.match(read, /friendlyName: services-of-example\.com-[0-9a-f]{16}\n/);
      assert.equal(spawnSync("openssl", ["pkcs12", "-in", file, "-passin", "pass:wrong", "-nokeys"]).status, 1);
    });
  });

  it("are read by Java, which trusts each certificate", { skip: !hasKeytool && "keytool is not installed" }, () => {
    for (const [type, encode] of formats) {
      inFile(encode({ certificates, password }), (file) => {
        const listed = keytool(file, type, "-list");
        for (const certificate of certificates) {
          const fingerprint = fingerprintOf(certificate).toUpperCase().match(/../g)?.join(":") ?? "";
          assert.ok(listed.includes(fingerprint));
        }
        assert.equal(listed.match(/, trustedCertEntry/g)?.length, certificates.length);
        assert.match(listed, /^services-of-example\.com-[0-9a-f]{16}, /m);
      });
    }
  });
});
