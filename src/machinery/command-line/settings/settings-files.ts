import { readSync } from "node:fs";
import { messageOf } from "../../api/thrown-error.ts";
import { withOpenFile } from "../../files/open-file.ts";
import { unreadableFileReason } from "../../files/unusable-file.ts";
import { UsageError } from "./flag.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";

/** The limit for a file that is read again while requests wait. */
const largestFollowedBytes = 2 ** 20;
/** A hundred thousand lines of tokens or certificates fit. */
const largestSettingsBytes = 16 * 2 ** 20;

/** Reads a file that a flag names. Throws UsageError for what is not a regular file of at most 16 MiB. */
export const readSettingsFile = (flag: string, file: string): string =>
  readBounded({ flag, file, largestBytes: largestSettingsBytes });

/**
 * Reads a small file that a flag names, such as a file that is read again whenever it changes. Throws UsageError for what is not a regular
 * file of at most 1 MiB.
 */
export const readFollowedFile = (flag: string, file: string): string =>
  readBounded({ flag, file, largestBytes: largestFollowedBytes });

/** Never reads without a limit: instead of a file there may be a pipe or a device that never ends. */
function readBounded({
  flag,
  file,
  largestBytes,
}: {
  readonly flag: string;
  readonly file: string;
  readonly largestBytes: number;
}): string {
  try {
    return withOpenFile(file, ({ descriptor, status }) => {
      if (status.isDirectory()) throw new UsageError(`--${flag}: ${file} is a folder; name a file`);
      if (!status.isFile())
        throw new UsageError(
          `--${flag}: ${file} is not a regular file; it may be read again later, so write it to a file and name that`,
        );
      if (status.size > largestBytes) {
        throw new UsageError(`--${flag}: ${file} is larger than ${largestBytes / 2 ** 20} MiB; name a smaller one`);
      }
      const buffer = Buffer.alloc(status.size + 1);
      const length = readSync(descriptor, buffer, 0, buffer.length, 0);
      // Files in /proc claim to be empty.
      if (length > status.size) {
        throw new UsageError(
          `--${flag}: ${file} is longer than its file system says; write what is in it to another file and name that`,
        );
      }
      return new TextDecoder().decode(buffer.subarray(0, length)); // without the byte order mark that Windows writes
    });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`--${flag}: cannot read ${file}: ${unreadableFileReason(cause)}`, { cause });
  }
}

interface SettingsFile {
  readonly flag: string;
  readonly file: string;
  /** Default: `readSettingsFile`. */
  readonly read?: (flag: string, file: string) => string;
}

/** Reads and parses a file that a flag names. An exception of `parse` becomes one line with the flag's name. */
export function parseSettingsFile<T>(
  { flag, file, read = readSettingsFile }: SettingsFile,
  parse: (text: string) => T,
): T {
  const text = read(flag, file);
  try {
    return parse(text);
  } catch (cause) {
    throw new UsageError(`--${flag}: ${file}: ${messageOf(cause)}`, { cause });
  }
}

/** Reads the certificates of a PEM bundle. Refuses a bundle without certificates, and a key that is too weak to use. */
export function readCertificates(flag: string, file: string): Certificate[] {
  const certificates = parseSettingsFile({ flag, file }, parseCertificatesPem);
  if (certificates.length === 0)
    throw new UsageError(`--${flag}: ${file} holds no certificate; name a PEM file of certificates`);
  for (const [index, { publicKey, subject }] of certificates.entries()) {
    if (publicKey.weakness === undefined) continue;
    const which = `certificate ${index + 1} (${formatDistinguishedName(subject)})`;
    throw new UsageError(`--${flag}: ${file}: the key of ${which} is not usable: ${publicKey.weakness}`);
  }
  return certificates;
}
