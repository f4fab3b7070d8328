import { readFileSync } from "node:fs";
import { UsageError } from "../cli/flag.ts";
import type { Certificate } from "../pki/certificate.ts";
import { formatDistinguishedName } from "../pki/distinguished-name.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";

/** Reads a file that a flag names. Throws UsageError. */
export function readSettingsFile(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(`--${flag}: cannot read ${file}`, { cause });
  }
}

/** Reads and parses a file that a flag names; what `parse` throws becomes one line with the flag's name. */
export function parseSettingsFile<T>(flag: string, file: string, parse: (text: string) => T): T {
  const text = readSettingsFile(flag, file);
  try {
    return parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--${flag}: ${file}: ${reason}`, { cause });
  }
}

/** The certificates of a PEM bundle; one without any is refused, and so is a key that nothing may be checked with. */
export function readCertificates(flag: string, file: string): Certificate[] {
  const certificates = parseSettingsFile(flag, file, parseCertificatesPem);
  if (certificates.length === 0) throw new UsageError(`--${flag}: ${file} holds no certificate`);
  for (const [index, { publicKey, subject }] of certificates.entries()) {
    if (publicKey.weakness === undefined) continue;
    const which = `certificate ${index + 1} (${formatDistinguishedName(subject)})`;
    throw new UsageError(`--${flag}: ${file}: the key of ${which} is not fit for use: ${publicKey.weakness}`);
  }
  return certificates;
}
