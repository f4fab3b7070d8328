import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyPair, parseKeyPair } from "../../src/agent/certificates/key-pair.ts";
import type { KeyPair } from "../../src/agent/certificates/key-pair.ts";
import { encodeJavaKeyStore } from "../../src/pki/key-stores/java-key-store.ts";
import { parsePrivateKeyPem } from "../../src/pki/keys/keys.ts";
import { encodePkcs12 } from "../../src/pki/key-stores/pkcs12.ts";
import { parseCertificatesPem } from "../../src/pki/certificates/certificates-pem.ts";
import { servicesSigner } from "./machine-server.ts";

/** Four services of one machine, each with a different form of files: a PEM, a folder, PKCS #12 and JKS. */
export const serviceNames = ["web", "db", "api", "legacy"] as const;
export type ServiceName = (typeof serviceNames)[number];

const password = "a password of this test";

export interface SeveralCertificates {
  readonly configuration: string;
  /** The file in which the hooks record what they reload. */
  readonly hookLog: string;
  /** Where a service's file or folder is. */
  file(name: ServiceName): string;
  /** The key and certificate in a service's files. Throws when they do not belong together, or are not those of an issued certificate. */
  pair(name: ServiceName): KeyPair;
  /** The digest of the files, as the hook sees them. */
  digest(name: ServiceName): string;
  /** What the last hook of a service saw. */
  lastReloaded(name: ServiceName): string | undefined;
}

/** Writes the configuration of an agent with the four services below a folder. `outputs` is where their files go. */
export function severalCertificates(
  folder: string,
  {
    servers,
    caFile,
    token,
    outputs = folder,
  }: { servers: readonly string[]; caFile: string; token: string; outputs?: string },
): SeveralCertificates {
  const configuration = join(folder, "agent.yaml");
  const hookLog = join(folder, "reloaded");
  const passwordFile = join(folder, "password");
  const forms = {
    web: { pem: join(outputs, "web.pem") },
    db: { folder: join(outputs, "db"), key: "server.key", certificate: "server.crt", chain: "ca.crt" },
    api: { pkcs12: join(outputs, "api.p12"), passwordFile },
    legacy: { jks: join(outputs, "legacy.jks"), passwordFile },
  };
  const read = {
    web: "cat web.pem",
    db: "cat db/..data/server.key db/..data/server.crt",
    api: "cat api.p12",
    legacy: "cat legacy.jks",
  };
  writeFileSync(passwordFile, password, { mode: 0o600 });
  writeFileSync(join(folder, "token"), token, { mode: 0o600 });
  const certificates = serviceNames.map((name) => ({
    name,
    signer: servicesSigner,
    commonName: `${name}.services.example`,
    dnsNames: [`${name}.services.example`],
    files: [forms[name]],
    hook: { command: `cd "${outputs}" && sum=$(${read[name]} | sha256sum) && echo "${name} $sum" >> "${hookLog}"` },
  }));
  writeFileSync(
    configuration,
    JSON.stringify({
      apiVersion: "signet.platform.io/v1",
      kind: "AgentConfiguration",
      servers,
      caFile,
      bootstrapTokenFile: "token",
      nodeName: "several",
      nodeAddresses: ["10.0.0.7"],
      dataDirectory: "data",
      listen: { port: 0 },
      certificates,
    }),
  );
  /** A store has the same bytes for the same pair. So it is the store of the pair in use, or of the previous pair. */
  const pairOfStore = (name: "api" | "legacy"): KeyPair => {
    const bytes = readFileSync(file(name));
    const pairs = keptPairs(join(folder, "data/pki"), name);
    const encode = name === "api" ? encodePkcs12 : encodeJavaKeyStore;
    const own = pairs.find((pair) =>
      encode({
        alias: name,
        password,
        privateKey: parsePrivateKeyPem(pair.keyPem),
        chain: parseCertificatesPem(pair.certificatePem).map(({ der }) => der),
        createdAt: pair.certificate.notBefore,
      }).equals(bytes),
    );
    return own ?? assert.fail(`the store of ${name} is of none of ${pairs.length} pairs`);
  };
  const file = (name: ServiceName): string =>
    join(outputs, { web: "web.pem", db: "db", api: "api.p12", legacy: "legacy.jks" }[name]);
  return {
    configuration,
    hookLog,
    file,
    pair(name) {
      if (name === "web") return parseKeyPair(readFileSync(file(name), "utf8"));
      if (name !== "db") return pairOfStore(name);
      // Like a reader that opens both files through the same version of the folder.
      const version = realpathSync(join(file(name), "..data"));
      const text = (part: string): string => readFileSync(join(version, part), "utf8");
      return keyPair({ keyPem: text("server.key"), certificatePem: text("server.crt") });
    },
    digest(name) {
      const hash = createHash("sha256");
      const paths = name === "db" ? ["..data/server.key", "..data/server.crt"] : [""];
      for (const path of paths) hash.update(readFileSync(join(file(name), path)));
      return hash.digest("hex");
    },
    lastReloaded(name) {
      const lines = existsSync(hookLog) ? readFileSync(hookLog, "utf8").split("\n") : [];
      return lines.findLast((line) => line.startsWith(`${name} `))?.split(/\s+/)[1];
    },
  };
}

/** The pairs that the agent keeps: the pair in use and the previous pair. */
function keptPairs(folder: string, name: string): KeyPair[] {
  return readdirSync(folder)
    .filter((one) => one.startsWith(`${name}-2`) && one.endsWith(".pem"))
    .map((one) => parseKeyPair(readFileSync(join(folder, one), "utf8")));
}
