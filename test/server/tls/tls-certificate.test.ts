import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import pino from "pino";
import type { Logger } from "pino";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import type { Clock } from "../../../src/machinery/api/clock.ts";
import type { AuthorityInFiles } from "../../../src/features/certificates/authorities/authority-in-files.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import type { ServingCertificate } from "../../../src/machinery/http/connections/serving-context.ts";
import { rootSigningAuthority } from "../../../src/features/certificates/authorities/signing-authority.ts";
import { FollowedFiles } from "../../../src/machinery/files/followed/followed-files.ts";
import { openTlsCertificate } from "../../../src/server/tls/tls-certificate.ts";
import type { TlsCertificate } from "../../../src/server/tls/tls-certificate.ts";
import { serverNamesIn } from "../../../src/features/certificates/signers/server-names.ts";
import type { SubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { dataDirectoryAuthority, issuePair } from "../../features/certificates/data-directory-authority.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

interface Opening {
  readonly dataDirectory: string;
  readonly own: AuthorityInFiles;
  /** Gets what tells the certificate that its CA has changed. */
  readonly onChange?: (listener: () => void) => void;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly followed?: FollowedFiles;
}

function open(
  commandLine: Readonly<Record<string, unknown>>,
  {
    dataDirectory,
    own,
    onChange = () => undefined,
    clock = systemClock,
    log = pino({ level: "silent" }),
    followed = new FollowedFiles({ log }),
  }: Opening,
): Promise<TlsCertificate> {
  return openTlsCertificate(parseServerConfig({ commandLine, file: {} }).listener, {
    dataDirectory,
    authority: { current: () => ({ ...rootSigningAuthority(own), bundlePem: own.pem }), onChange },
    clock,
    log,
    followed,
    isRevoked: () => false,
    revocation: undefined,
  });
}

describe("the serving certificate's files", () => {
  it("are refused at the start unless they are a certificate and its key, with flag, file and what to do", async () => {
    const folder = temporaryFolder();
    const own = dataDirectoryAuthority(folder);
    const write = (name: string, contents: string): string => {
      const file = join(folder, name);
      writeFileSync(file, contents);
      return file;
    };
    const [one, two] = [issuePair(own, { commonName: "signet" }), issuePair(own, { commonName: "signet" })];
    const locked = createPrivateKey(one.key).export({
      ...{ format: "pem", type: "pkcs8" },
      ...{ cipher: "aes-256-cbc", passphrase: "secret" },
    });
    const [certificate, key] = [write("one.crt", one.certificate), write("one.key", one.key)];
    const damaged = one.certificate.replace(/^.*\n.*\n/, "-----BEGIN CERTIFICATE-----\n");
    const noKey = "holds no private key that can be read; name a PEM file with a key without a passphrase";
    const chain = "name a PEM file with the server's certificate and its chain behind it";
    for (const [certificateFile, keyFile, message] of [
      [write("text.crt", "no PEM"), key, `--tls-cert-file: ${folder}/text.crt holds no certificate; ${chain}`],
      [write("empty.crt", ""), key, `--tls-cert-file: ${folder}/empty.crt holds no certificate; ${chain}`],
      [
        write("damaged.crt", damaged),
        key,
        `--tls-cert-file: ${folder}/damaged.crt holds a certificate that cannot be used: x509: malformed certificate; ${chain}`,
      ],
      [key, certificate, `--tls-cert-file: ${key} holds no certificate; ${chain}`],
      [certificate, write("text.key", "no PEM"), `--tls-private-key-file: ${folder}/text.key ${noKey}`],
      [certificate, write("empty.key", ""), `--tls-private-key-file: ${folder}/empty.key ${noKey}`],
      [certificate, write("locked.key", locked), `--tls-private-key-file: ${folder}/locked.key ${noKey}`],
      [
        certificate,
        write("two.key", two.key),
        `--tls-cert-file, --tls-private-key-file: the key in ${folder}/two.key does not belong to the first certificate in ${certificate}; name the files of one pair`,
      ],
    ] as const) {
      const commandLine = { "tls-cert-file": certificateFile, "tls-private-key-file": keyFile };
      await assert.rejects(open(commandLine, { dataDirectory: folder, own }), { name: "UsageError", message });
    }
  });

  it("may be unreadable or not match for a while, which is logged and tried again at the next check", async () => {
    const folder = temporaryFolder();
    const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    const own = dataDirectoryAuthority(folder);
    const [one, two] = [issuePair(own, { commonName: "signet" }), issuePair(own, { commonName: "signet" })];
    writeFileSync(cert, one.certificate);
    writeFileSync(key, one.key);
    const logged: string[] = [];
    const log = pino({ level: "error" }, { write: (line) => void logged.push(line) });
    const followed = new FollowedFiles({ log });
    const commandLine = { "tls-cert-file": cert, "tls-private-key-file": key };
    const certificate = await open(commandLine, { dataDirectory: folder, own, log, followed });
    const taken: ServingCertificate[] = [];
    certificate.onRenewed((renewed) => taken.push(renewed));
    const verifiedWith: string[] = [];
    certificate.onCaChange(() => verifiedWith.push(certificate.caCertificates()));
    const look = (): void => followed.refresh({ isForced: false });

    renameSync(key, `${key}.away`);
    look();
    writeFileSync(key, two.key);
    look();
    look();
    assert.deepEqual(taken, []);
    assert.equal(certificate.current().key, one.key);
    assert.equal(logged.length, 2, "each state of the files is reported once");
    writeFileSync(cert, two.certificate);
    look();
    assert.deepEqual(taken, [{ cert: two.certificate, key: two.key }]);
    assert.equal(certificate.current().key, two.key);
    assert.deepEqual(verifiedWith, [two.certificate], "clients verify the server with it, and are told so");
    certificate.stop();
  });
});

describe("the serving certificate of the data directory", () => {
  it("is replaced, and that is logged, when it is not valid yet because the clock was ahead", async (context) => {
    const folder = temporaryFolder();
    const right = Date.now();
    const ahead = right + 30 * 86_400_000;
    let now = right;
    const clock = { now: () => now };
    const own = dataDirectoryAuthority(folder, { clock });
    const logged: string[] = [];
    const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line).msg) });
    let look = (): void => {};
    now = ahead;
    const onChange = (listener: () => void): void => void (look = listener);
    const certificate = await open({}, { dataDirectory: folder, own, onChange, clock, log });
    context.after(() => certificate.stop());
    const beginning = (): number => parseCertificatesPem(certificate.current().cert)[0]?.notBefore ?? Number.NaN;

    look();
    assert.deepEqual(logged, []);
    assert.ok(beginning() > right);
    now = right;
    look();
    assert.ok(beginning() <= right);
    assert.deepEqual(logged, ["serving certificate renewed"]);
    look();
    assert.equal(logged.length, 1, "the new one is kept");
  });
});

describe("the names of the server", () => {
  it("are those of --tls-cert-file too, so that no signer certifies them for others", async () => {
    const folder = temporaryFolder();
    const own = dataDirectoryAuthority(folder);
    const refused = async (names: Partial<SubjectAltNames>): Promise<string[]> => {
      const { certificate, key } = issuePair(own, { commonName: "common.test", ...names });
      const [certificateFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
      writeFileSync(certificateFile, certificate);
      writeFileSync(keyFile, key, { mode: 0o600 });
      const commandLine = { "tls-cert-file": certificateFile, "tls-private-key-file": keyFile };
      const opened = await open(commandLine, { dataDirectory: folder, own });
      opened.stop();
      const dnsNames = ["a.test", "x.b.test", "common.test"];
      return serverNamesIn({ dnsNames, ipAddresses: ["192.0.2.1", "192.0.2.2"] }, opened.identity().names);
    };
    const names = { dnsNames: ["a.test", "*.b.test"], ipAddresses: ["192.0.2.1"] };
    assert.deepEqual(await refused(names), ["a.test", "x.b.test", "192.0.2.1"]);
    assert.deepEqual(await refused({}), ["common.test"], "curl takes it for the name of a server without DNS names");
  });
});

describe("the certificates for server names", () => {
  it("count as the server's names, so that no signer certifies them for others", async () => {
    const folder = temporaryFolder();
    const own = dataDirectoryAuthority(folder);
    const { certificate, key } = issuePair(own, { commonName: "named", dnsNames: ["unused.test"] });
    const [certificateFile, keyFile] = [join(folder, "named.crt"), join(folder, "named.key")];
    writeFileSync(certificateFile, certificate);
    writeFileSync(keyFile, key, { mode: 0o600 });
    const commandLine = { "tls-sni-cert-key": `${certificateFile},${keyFile}:a.test,*.b.test` };
    const opened = await open(commandLine, { dataDirectory: folder, own });
    const { names, certificates } = opened.identity();
    assert.deepEqual(serverNamesIn({ dnsNames: ["x.b.test", "a.test", "c.test"], ipAddresses: [] }, names), [
      "x.b.test",
      "a.test",
    ]);
    assert.ok(certificates.some(({ subject }) => subject.commonName === "named"));
    opened.stop();
  });
});
