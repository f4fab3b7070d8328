import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { writePrivateFile, writePublicFile } from "../../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import { createCertificateAuthority, loadCertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../pki/keys.ts";
import { encodePem } from "../../../pki/pem.ts";

/** A CA and its certificate as PEM. */
export interface ClusterAuthority extends CertificateAuthority {
  readonly pem: string;
}

const defaultLifetimeMilliseconds = 10 * 365 * 24 * 3_600_000;

/** A certificate's start lies a little back, for clients whose clocks run behind. */
export const clockSkewMilliseconds = 5 * 60_000;

export interface ClusterAuthorityOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  /** What the names of its files begin with; default: `ca`, the server's own. */
  readonly baseName?: string;
  /** Of a CA that is made now; default: from `baseName`. */
  readonly commonName?: string;
  /** Of a CA that is made now; default: ten years. */
  readonly lifetimeMilliseconds?: number;
}

/** A CA of the data directory (`ca.crt`, `ca.key`), made on first use. Throws PkiError when the files do not fit. */
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
    const now = clock.now();
    const authority = createCertificateAuthority({
      subject: { commonName },
      privateKey: generatePrivateKey("ECDSA P-256"),
      notBefore: now - clockSkewMilliseconds,
      notAfter: now + lifetimeMilliseconds,
    });
    // The certificate comes last: where it is, the key that belongs to it is there too.
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
  return { ...loadCertificateAuthority({ certificate: pem, privateKey }), pem };
}
