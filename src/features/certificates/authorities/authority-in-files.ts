import { randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { writePrivateFile, writePublicFile } from "../../../machinery/files/atomic-file.ts";
import { withOpenFile } from "../../../machinery/files/open-file.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { UnusableFile, asUnusableFile } from "../../../machinery/files/unusable-file.ts";
import {
  createCertificateAuthority,
  loadCertificateAuthority,
} from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificates/certificate-authority.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { suffixedCommonName } from "../../../pki/names/distinguished-name.ts";
import { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem } from "../../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { encodePem } from "../../../pki/pem.ts";
import type { Log } from "../../../machinery/logging/log.ts";
import { backdateMilliseconds } from "../backdate.ts";

/** A CA and its certificate as PEM. */
export interface AuthorityInFiles extends CertificateAuthority {
  readonly pem: string;
}

const defaultLifetimeMilliseconds = 10 * 365 * 24 * 3_600_000;

export interface AuthorityInFilesOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  /** The name of the CA's files without extension, such as `ca`. */
  readonly baseName: string;
  /** For a CA that is generated now. Default: derived from `baseName`. */
  readonly commonName?: string;
  /** For a CA that is generated now. Default: ten years. */
  readonly lifetimeMilliseconds?: number;
}

interface OpenAuthorityInFilesOptions extends AuthorityInFilesOptions {
  readonly log: Pick<Log, "warn">;
}

/**
 * Opens a CA of the data directory (`ca.crt`, `ca.key`), which is generated on first use. A missing certificate is made again for the
 * existing key, so that the certificates that the key has signed stay valid. Throws UsageError when the key is missing, and UnusableFile
 * when certificate and key cannot be used, or do not match.
 */
export function openAuthorityInFiles({
  dataDirectory,
  clock,
  baseName,
  commonName = `signet-${baseName}`,
  lifetimeMilliseconds = defaultLifetimeMilliseconds,
  log,
}: OpenAuthorityInFilesOptions): AuthorityInFiles {
  const certificateFile = join(dataDirectory, `${baseName}.crt`);
  const keyFile = join(dataDirectory, `${baseName}.key`);
  if (!existsSync(certificateFile)) {
    const known = existingKey(keyFile);
    const privateKey = known ?? generatePrivateKey("ECDSA P-256");
    const authority = madeAuthority({ commonName, clock, lifetimeMilliseconds, privateKey });
    // Write the certificate last: if it exists, its key exists too.
    if (known === undefined) writePrivateFile(keyFile, encodePrivateKeyPem(privateKey));
    else
      log.warn(
        { file: certificateFile, key: keyFile },
        "a CA's certificate was missing; it was made again for its key",
      );
    writePublicFile(certificateFile, encodePem("CERTIFICATE", authority.certificate.der));
  }
  const privateKey = readPrivateFile(keyFile);
  if (privateKey === undefined) {
    throw new UsageError(
      `${keyFile} is missing: copy it from a backup or another replica, it belongs to ${certificateFile}`,
    );
  }
  const pem = readAuthorityFile(certificateFile);
  const authority = orPkiError(() => loadCertificateAuthority({ certificate: pem, privateKey }));
  if (!(authority instanceof PkiError)) return { ...authority, pem };
  const reason =
    `${certificateFile}, ${keyFile}: ${authority.message}; restore both from a backup, or, where an earlier version takes them, ` +
    "start that one and replace the CA there (signet ca prepare)";
  throw new UnusableFile(reason, { cause: authority });
}

/**
 * Reads the file of a CA's certificate. Throws UnusableFile, also for a folder: container runtimes make one where a mounted file is
 * missing.
 */
export function readAuthorityFile(file: string): string {
  try {
    return withOpenFile(file, ({ descriptor }) => readFileSync(descriptor, "utf8"));
  } catch (error) {
    throw asUnusableFile(`${file} cannot be read`, error);
  }
}

/** Reads a key that has no certificate, because the first start was interrupted or the certificate was lost. Undefined: no key either. */
function existingKey(file: string): KeyObject | undefined {
  const pem = readPrivateFile(file);
  if (pem === undefined) return undefined;
  const key = orPkiError(() => parsePrivateKeyPem(pem));
  if (!(key instanceof PkiError)) return key;
  throw new UnusableFile(`${file}: ${key.message}; restore it from a backup, with the certificate`, { cause: key });
}

/**
 * Makes a CA with the lifetime of the CA that it replaces. Its name is different, because certificates identify their issuer by its name.
 */
export function createSuccessor(
  { subject, notBefore, notAfter }: Pick<Certificate, "subject" | "notBefore" | "notAfter">,
  clock: Clock,
): CertificateAuthority {
  // Remove the suffix of an earlier rotation.
  const name = subject.commonName.replace(/-[0-9a-f]{8}$/, "");
  return madeAuthority({
    commonName: suffixedCommonName(name, `-${randomBytes(4).toString("hex")}`),
    clock,
    lifetimeMilliseconds: notAfter - notBefore - backdateMilliseconds,
    privateKey: generatePrivateKey("ECDSA P-256"),
  });
}

function madeAuthority({
  commonName,
  clock,
  lifetimeMilliseconds,
  privateKey,
}: {
  readonly commonName: string;
  readonly clock: Clock;
  readonly lifetimeMilliseconds: number;
  readonly privateKey: KeyObject;
}): CertificateAuthority {
  const now = clock.now();
  return createCertificateAuthority({
    subject: { commonName },
    privateKey,
    notBefore: now - backdateMilliseconds,
    notAfter: now + lifetimeMilliseconds,
  });
}
