import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { signerNameOf } from "../../features/certificates/authorities/generated-authorities.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { readRegularFile } from "../../machinery/files/regular-file.ts";
import { fileFailureReason, unreadableFileReason } from "../../machinery/files/unusable-file.ts";
import { PkiError } from "../../pki/pki-error.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { splitKeyPair } from "../../pki/key-stores/pem-key-pair.ts";
import { certificatesInFile } from "./certificates-in-file.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { dataDirectoryPaths } from "./data-directory-paths.ts";

const soonMilliseconds = 30 * 86_400_000;

/** Examines when the certificates begin and expire that are in the data directory, and in the files that settings name. */
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

/** `isOwn`: only the first CA of the file signs. The others are there before or after they sign (`signet ca`). */
function examineCertificateFile(
  file: string,
  { now, isOwn }: { readonly now: number; readonly isOwn: boolean },
): Finding[] {
  const subject = "certificate";
  let certificates: readonly Certificate[];
  try {
    certificates = certificatesInFile(file);
  } catch (error) {
    return [
      bad(subject, {
        found: `${file} cannot be read: ${unreadableFileReason(error)}`,
        advice: "replace it, or restore it from a backup",
      }),
    ];
  }
  const name = signerNameOf(basename(file, ".crt"));
  return certificates.map((certificate, index) => {
    const what = `${file} (${formatDistinguishedName(certificate.subject)})`;
    const { notBefore, notAfter } = certificate;
    const end = new Date(notAfter).toISOString();
    const begin = new Date(notBefore).toISOString();
    if (isOwn && index > 0 && (notBefore > now || notAfter <= now)) {
      return warning(subject, {
        found: `${what} ${notBefore > now ? `begins only at ${begin}` : `ended at ${end}`}, and does not sign now`,
        advice: `if signet ca list shows it as replaced, end the trust in it: signet ca retire ${name}`,
      });
    }
    if (notBefore > now) {
      return bad("clock", {
        found: `${what} begins only at ${begin}`,
        advice:
          "set this machine's clock if it is slow; if it is right, replace the certificate (signet ca replaces CAs)",
      });
    }
    const how = isOwn ? `: signet ca prepare ${name}, then signet ca switch ${name}` : "";
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

/** A running server, too, renews its certificates before this part of their lifetime is over. */
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
    // The server has not started yet, or another finding reports it.
    if (!existsSync(file) || !statSync(file).isFile()) return [];
    // Other checks examine the file's owner and mode: the user of `signet doctor` may be another.
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
