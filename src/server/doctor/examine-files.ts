import { existsSync, lstatSync, statSync } from "node:fs";
import { generatedAuthoritiesFolder } from "../../features/certificates/authorities/generated-authorities.ts";
import { join } from "node:path";
import { errorCode, messageOf } from "../../machinery/api/thrown-error.ts";
import { freeBytesIn } from "../../machinery/storage/backends/disk-room.ts";
import type { Certificate } from "../../pki/certificate.ts";
import { formatDistinguishedName } from "../../pki/distinguished-name.ts";
import { parseCertificatesPem } from "../../pki/certificates-pem.ts";
import { filesThatAreNone, namesIn } from "../backup/data-directory-files.ts";
import { unfinishedRestore } from "../lock-data-directory.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { readRegularFile } from "../../machinery/files/regular-file.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import { PkiError } from "../../pki/pki-error.ts";
import type { ServerConfig } from "../server-config.ts";
import { splitKeyPair } from "../load-or-issue-certificate.ts";
import { readSettingsFile } from "../../machinery/command-line/settings-files.ts";
import { parseSignerConfiguration } from "../../features/certificates/signers/parse-signer-configuration.ts";
import { isPkcs11Uri, parsePkcs11Uri } from "../../machinery/pkcs11/pkcs11-uri.ts";
import { shellWord } from "../../machinery/command-line/shell-word.ts";

/** The files that settings name. */
interface NamedFiles {
  /** PEM files with certificates. */
  readonly certificates: readonly string[];
  /** Private keys, tokens, and kubeconfigs with one of them. */
  readonly secrets: readonly string[];
  /** `pkcs11:` URIs in place of files. */
  readonly keysInTokens: readonly string[];
}

export function namedFiles({ listener, access, accounts, federation, controllers, storage }: ServerConfig): NamedFiles {
  const etcd = storage.type === "etcd" ? storage : undefined;
  const { authority, authorityOf, signerConfigurationFile } = controllers.certificates;
  const pairs = [
    ...[listener.certificate, authority, ...Object.values(authorityOf), etcd?.clientCertificate],
    ...listener.namedCertificates,
    ...signerFiles(signerConfigurationFile),
  ].filter((pair) => pair !== undefined);
  const { issuers, webhook } = federation;
  const { signingKey } = accounts;
  const signing = "file" in signingKey ? signingKey.file : "inToken" in signingKey ? signingKey.inToken : undefined;
  return {
    certificates: given([
      ...pairs.map(({ certificateFile }) => certificateFile),
      ...[access.clientAuthorityFile, access.frontProxy.authorityFile, etcd?.authorityFile],
      issuers?.type === "flags" ? issuers.authorityFile : undefined,
    ]),
    secrets: given([
      ...[...pairs.map(({ keyFile }) => keyFile), signing].map((key) =>
        key !== undefined && isPkcs11Uri(key) ? pinFileOf(key) : key,
      ),
      ...[access.tokenFile, webhook?.file],
    ]),
    keysInTokens: given(
      [...pairs, { keyFile: signing, certificateFile: undefined }].map(({ keyFile }) => keyFile),
    ).filter(isPkcs11Uri),
  };
}

const given = (files: readonly (string | undefined)[]): string[] => [
  ...new Set(files.filter((file) => file !== undefined)),
];

/** Undefined for an invalid URI: `examineOutsideKeys` reports it. */
function pinFileOf(uri: string): string | undefined {
  try {
    return parsePkcs11Uri(uri).pinFile;
  } catch {
    return undefined;
  }
}

/** The CAs of `--signer-config`. None where the file cannot be used: the server's start says why. */
function signerFiles(file: string | undefined): { readonly certificateFile: string; readonly keyFile: string }[] {
  if (file === undefined) return [];
  try {
    const signers = parseSignerConfiguration(readSettingsFile("signer-config", file), file);
    return signers.flatMap(({ certificateAuthority: from }) => (from.type === "files" ? [from] : []));
  } catch {
    return [];
  }
}

const folders = ["", generatedAuthoritiesFolder, "store"];
/** Certificates and public keys may be read by everybody; all other files may hold secrets. */
const publicFile = /\.crt$|\.pub$|^client-authorities\.json$/;
const soonMilliseconds = 30 * 86_400_000;
const smallestFreeBytes = 256 * 2 ** 20;

/** The files of a data directory, by their path in it. */
export function dataDirectoryPaths(directory: string): string[] {
  return (
    namesIn(directory, folders)
      // A running server replaces files, and removes its temporary ones; a link may lead in a circle.
      .filter((path) => existsSync(join(directory, path)))
      .filter((path) => statSync(join(directory, path), { throwIfNoEntry: false })?.isFile() === true)
      .toSorted()
  );
}

/** Who owns the data directory and who can read the secrets in it. */
export function examinePermissions(directory: string): Finding[] {
  const subject = "permissions";
  const { uid, mode } = statSync(directory);
  const findings: Finding[] = [];
  if ((mode & 0o022) !== 0) {
    findings.push(
      bad(subject, { found: `others can write to ${directory}`, advice: `chmod 700 ${shellWord(directory)}` }),
    );
  }
  for (const path of dataDirectoryPaths(directory)) {
    const file = join(directory, path);
    const status = statSync(file, { throwIfNoEntry: false });
    if (status === undefined) continue;
    // Root may own what a link leads to: a server takes such a file too.
    const isOfRoot = status.uid === 0 && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (status.uid !== uid && !isOfRoot) {
      findings.push(
        bad(subject, {
          found: `${file} belongs to uid ${status.uid}, the folder to ${uid}`,
          advice: `chown ${uid} ${shellWord(file)}`,
        }),
      );
    }
    const isOpen = (status.mode & 0o077) !== 0;
    if (isOpen && !publicFile.test(path)) {
      const advice = `chmod 600 ${shellWord(file)}; if others may have read it, replace what is in it (docs/break-in.md)`;
      findings.push(bad(subject, { found: `others can read ${file}`, advice }));
    }
  }
  return findings.length > 0 ? findings : [good(subject, `only uid ${uid} can read what is secret in ${directory}`)];
}

/** What a server writes or locks at each start, also where a link leads. */
const openedAtStart = ["admin.kubeconfig", "admin.pem", "serving.pem", "owner.json", "owner.lock", "members.lock"];

/** What is in place of files. */
export const examineOddFiles = (directory: string): Finding[] => [
  ...filesThatAreNone(directory).map(({ path, kind }) =>
    bad("files", {
      found: `${path} is ${kind}`,
      advice: "put back the file, or remove what is there: no server starts with it",
    }),
  ),
  ...openedAtStart.flatMap((name) => examineOpenedFile(join(directory, name))),
];

function examineOpenedFile(path: string): Finding[] {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return [];
  } catch (error) {
    if (errorCode(error) !== "ELOOP") {
      const found = `${path}: ${fileFailureReason(error)}`;
      return [bad("files", { found, advice: "no server of this user starts with it" })];
    }
  }
  return [bad("files", { found: `${path} is no file`, advice: "remove it: no server starts with it" })];
}

/** Who can read and write the files that settings name. A group may read secrets: packages are installed that way. */
export function examineNamedFiles({ certificates, secrets }: NamedFiles): Finding[] {
  const subject = "permissions";
  return [...certificates, ...secrets].flatMap((file) => {
    const status = statSync(file, { throwIfNoEntry: false });
    // Certificates that cannot be read have a finding of their own.
    if (status?.isFile() !== true) {
      const found = status === undefined ? `${file} does not exist` : `${file} is no file`;
      return secrets.includes(file) ? [bad(subject, { found, advice: "restore it, or change the setting" })] : [];
    }
    const findings: Finding[] = [];
    if ((status.mode & 0o002) !== 0)
      findings.push(bad(subject, { found: `others can write to ${file}`, advice: `chmod o-w ${shellWord(file)}` }));
    if (secrets.includes(file) && (status.mode & 0o004) !== 0) {
      const advice = `chmod o-r ${shellWord(file)}; if others may have read it, replace what is in it (docs/break-in.md)`;
      findings.push(bad(subject, { found: `others can read ${file}`, advice }));
    }
    return findings;
  });
}

/** The ends and beginnings of the certificates in the data directory, and in the files that settings name. */
export function examineCertificates(
  directory: string,
  { now, files }: { readonly now: number; readonly files: readonly string[] },
): Finding[] {
  const own = dataDirectoryPaths(directory)
    .filter((path) => path.endsWith(".crt"))
    .map((path) => join(directory, path));
  return [
    ...own.flatMap((file) => examineCertificateFile(file, { now, isOwn: true })),
    ...files.flatMap((file) => examineCertificateFile(file, { now, isOwn: false })),
  ];
}

/** As much as a server reads. In the place of the file there may be something that never ends, such as a pipe or a device. */
const largestCertificatesMebibytes = 16;

/** `isOwn`: the CAs of a file after the first are beside the one that signs, before or after their time (`signet ca`). */
function examineCertificateFile(
  file: string,
  { now, isOwn }: { readonly now: number; readonly isOwn: boolean },
): Finding[] {
  const subject = "certificate";
  let certificates: readonly Certificate[];
  try {
    const read = readRegularFile(file, { largestBytes: largestCertificatesMebibytes * 2 ** 20 });
    if (read === undefined) throw new Error(`it is no file of at most ${largestCertificatesMebibytes} MiB`);
    certificates = parseCertificatesPem(read.contents.toString());
  } catch (error) {
    return [
      bad(subject, {
        found: `${file} cannot be read: ${messageOf(error)}`,
        advice: "replace it, or restore it from a backup",
      }),
    ];
  }
  return certificates.map((certificate, index) => {
    const what = `${file} (${formatDistinguishedName(certificate.subject)})`;
    const { notBefore, notAfter } = certificate;
    const end = new Date(notAfter).toISOString();
    const begin = new Date(notBefore).toISOString();
    if (isOwn && index > 0 && (notBefore > now || notAfter <= now)) {
      return warning(subject, {
        found: `${what} ${notBefore > now ? `begins only at ${begin}` : `ended at ${end}`}, and does not sign now`,
        advice: "if signet ca list shows it as replaced, end the trust in it: signet ca retire",
      });
    }
    if (notBefore > now) {
      return bad("clock", {
        found: `${what} begins only at ${begin}`,
        advice:
          "set this machine's clock if it is slow; if it is right, replace the certificate (signet ca replaces CAs)",
      });
    }
    const how = isOwn ? ": signet ca prepare, then signet ca switch" : "";
    if (notAfter <= now) {
      const advice = `replace it now${isOwn ? `${how} --force` : ""}`;
      return bad(subject, { found: `${what} ended at ${end}`, advice });
    }
    if (notAfter - now < soonMilliseconds) {
      return warning(subject, { found: `${what} ends at ${end}`, advice: `replace it before that${how}` });
    }
    return good(subject, `${what} is valid until ${end}`);
  });
}

/** A file from the future was written when the clock was ahead, or the clock is behind now. */
export function examineClock(directory: string, now: number): Finding {
  const ahead = dataDirectoryPaths(directory)
    .map((path) => join(directory, path))
    .find((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > now + 60_000);
  if (ahead === undefined) return good("clock", `${new Date(now).toISOString()}; no file is newer`);
  return bad("clock", {
    found: `${ahead} was written later than now`,
    advice: "set this machine's clock (timedatectl)",
  });
}

/** Free space, and what an interrupted command left behind. */
export function examineDisk(directory: string): Finding[] {
  const freeBytes = freeBytesIn(directory);
  const found =
    freeBytes === undefined
      ? `the file system of ${directory} does not say what is free`
      : `${Math.floor(freeBytes / 2 ** 20)} MiB are free for ${directory}`;
  const space =
    freeBytes !== undefined && freeBytes < smallestFreeBytes
      ? warning("disk", { found, advice: "make room: a full disk refuses all writes" })
      : good("disk", found);
  if (!existsSync(unfinishedRestore(directory))) return [space];
  return [
    space,
    bad("disk", {
      found: `a restore into ${directory} is not complete`,
      advice: "wait for it, or, if it broke off, remove the folder and restore again",
    }),
  ];
}

/** A server renews them before this part of their lifetime is over, also while it runs. */
const lateInLife = 3 / 4;
const largestPairBytes = 2 ** 20;

/** The certificates that a server makes for itself: the serving certificate, unless settings name one, and the administrator's. */
export function examineOwnCertificates({ dataDirectory, listener }: ServerConfig, now: number): Finding[] {
  const served = listener.certificate === undefined ? { "serving.pem": "the serving certificate" } : {};
  return Object.entries({ ...served, "admin.pem": "the certificate in admin.kubeconfig" }).flatMap(([name, what]) =>
    examineOwnCertificate(join(dataDirectory, name), { what, now }),
  );
}

function examineOwnCertificate(
  file: string,
  { what, now }: { readonly what: string; readonly now: number },
): Finding[] {
  const subject = "certificate";
  const advice = "restart the server, which makes a new one, and copy admin.kubeconfig again to where it is used";
  let certificate: Certificate | undefined;
  try {
    // The server has not started yet, or it is the subject of another finding.
    if (!existsSync(file) || !statSync(file).isFile()) return [];
    // Whose file it is, and who can read it, is examined elsewhere: a doctor may be another user.
    const text = readRegularFile(file, { largestBytes: largestPairBytes })?.contents.toString("utf8");
    [certificate] = parseCertificatesPem(splitKeyPair(text ?? "")?.certificate ?? "");
  } catch (error) {
    const reason = error instanceof PkiError ? error.message : fileFailureReason(error);
    return [bad(subject, { found: `${file}: ${reason}`, advice })];
  }
  if (certificate === undefined) return [bad(subject, { found: `${file} holds no key with a certificate`, advice })];
  const { notBefore, notAfter } = certificate;
  const end = new Date(notAfter).toISOString();
  if (notBefore > now) {
    return [
      bad("clock", {
        found: `${what} begins only at ${new Date(notBefore).toISOString()}`,
        advice: `set this machine's clock if it is slow; if it is right, ${advice}`,
      }),
    ];
  }
  if (notAfter <= now) return [bad(subject, { found: `${what} ended at ${end}`, advice })];
  if (now - notBefore > (notAfter - notBefore) * lateInLife) {
    return [warning(subject, { found: `${what} ends at ${end}, and should have been renewed`, advice })];
  }
  return [good(subject, `${what} is valid until ${end}`)];
}
