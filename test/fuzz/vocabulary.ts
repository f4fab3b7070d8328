import { createCertificateAuthority, signCertificate } from "../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What really exists on the server: inputs that name it get further than inputs that do not. Lists are never empty. */
export interface Vocabulary {
  readonly adminToken: string;
  /** Tokens of accounts, bound and not, issued by the server. */
  readonly tokens: readonly [string, ...string[]];
  readonly uids: readonly [string, ...string[]];
  readonly resourceVersions: readonly [string, ...string[]];
  readonly continueTokens: readonly [string, ...string[]];
}

export const namespaces = ["fuzz-a", "fuzz-b"] as const;
/** Few, so that inputs meet objects that earlier inputs have made. */
export const objectNames = ["robot", "node-1", "a", "b.example.com", "default", "view"] as const;

const day = 86_400_000;
/** A CA that the server trusts for clients and front proxies. The fuzzer has its key. */
export function newFuzzAuthority(): CertificateAuthority {
  return createCertificateAuthority({
    subject: { commonName: "fuzz-ca" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: Date.now() - day,
    notAfter: Date.now() + day,
  });
}

export const newClientCertificate = (authority: CertificateAuthority, commonName: string): Buffer =>
  signCertificate(
    {
      subject: { commonName, organizations: ["system:nodes"] },
      publicKey: publicKeyInfoOf(authority.privateKey),
      notBefore: Date.now() - day,
      notAfter: Date.now() + day,
      isCA: false,
      keyUsages: ["digitalSignature"],
      extendedKeyUsages: ["clientAuth"],
      subjectAltNames: noSubjectAltNames,
    },
    authority,
  );

export const pemOf = (der: Buffer): string => encodePem("CERTIFICATE", der);

const fixtures = join(import.meta.dirname, "../conformance/fixtures");
const files = readdirSync(fixtures).filter((file) => file.endsWith(".pem") && !file.includes("key"));
const textsOf = (wanted: RegExp): readonly string[] =>
  files.filter((file) => wanted.test(file)).map((file) => readFileSync(join(fixtures, file), "utf8"));

/** Certificate requests and certificates of every sort, good and bad. */
export const requestPems = textsOf(/csr/);
export const certificatePems = textsOf(/^(ca|cert-ca|cert-leaf|chain|leaf\.|leaf-headers)/);
