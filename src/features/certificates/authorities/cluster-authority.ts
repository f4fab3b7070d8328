import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { writePrivateFile, writePublicFile } from "../../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import { createCertificateAuthority, loadCertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { suffixedCommonName } from "../../../pki/distinguished-name.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../pki/keys.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { encodePem } from "../../../pki/pem.ts";

/** A CA and its certificate as PEM. */
export interface ClusterAuthority extends CertificateAuthority {
  readonly pem: string;
}

const defaultLifetimeMilliseconds = 10 * 365 * 24 * 3_600_000;

/** Certificates become valid a little in the past, for clients whose clocks are slow. */
export const clockSkewMilliseconds = 5 * 60_000;

export interface ClusterAuthorityOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  /** The name of its files without extension. Default: `ca`, the server's own CA. */
  readonly baseName?: string;
  /** For a CA that is generated now. Default: derived from `baseName`. */
  readonly commonName?: string;
  /** For a CA that is generated now. Default: ten years. */
  readonly lifetimeMilliseconds?: number;
}

/**
 * A CA of the data directory (`ca.crt`, `ca.key`), generated on first use. Throws UnusableFile when certificate and key cannot
 * be used, or do not match.
 */
export function openClusterAuthority({
  dataDirectory,
  clock,
  baseName = "ca",
  commonName = `signet-${baseName}`,
  lifetimeMilliseconds = defaultLifetimeMilliseconds,
}: ClusterAuthorityOptions): ClusterAuthority {
  const certificateFile = join(dataDirectory, `${baseName}.crt`);
  const keyFile = join(dataDirectory, `${baseName}.key`);
  if (!existsSync(certificateFile)) {
    const authority = madeAuthority({ commonName, clock, lifetimeMilliseconds });
    // Write the certificate last: if it exists, its key exists too.
    writePrivateFile(keyFile, encodePrivateKeyPem(authority.privateKey));
    writePublicFile(certificateFile, encodePem("CERTIFICATE", authority.certificate.der));
  }
  if (!existsSync(keyFile)) {
    throw new UsageError(
      `${keyFile} is missing: copy it from a backup or another replica, it belongs to ${certificateFile}`,
    );
  }
  const pem = readFileSync(certificateFile, "utf8");
  const privateKey = readPrivateFile(keyFile);
  if (privateKey === undefined)
    throw new UnusableFile(`${keyFile} is missing; restore it, or remove ${certificateFile} too`);
  try {
    return { ...loadCertificateAuthority({ certificate: pem, privateKey }), pem };
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause;
    throw new UnusableFile(`${certificateFile}, ${keyFile}: ${cause.message}; restore both from a backup`, { cause });
  }
}

/**
 * A CA that replaces another one, with the same lifetime. Its name is different, because a certificate names its issuer only by
 * name.
 */
export function createSuccessor(
  { subject, notBefore, notAfter }: Pick<Certificate, "subject" | "notBefore" | "notAfter">,
  clock: Clock,
): CertificateAuthority {
  // Without the suffix of an earlier rotation.
  const name = subject.commonName.replace(/-[0-9a-f]{8}$/, "");
  return madeAuthority({
    commonName: suffixedCommonName(name, `-${randomBytes(4).toString("hex")}`),
    clock,
    lifetimeMilliseconds: notAfter - notBefore - clockSkewMilliseconds,
  });
}

function madeAuthority({
  commonName,
  clock,
  lifetimeMilliseconds,
}: {
  readonly commonName: string;
  readonly clock: Clock;
  readonly lifetimeMilliseconds: number;
}): CertificateAuthority {
  const now = clock.now();
  return createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: now - clockSkewMilliseconds,
    notAfter: now + lifetimeMilliseconds,
  });
}
