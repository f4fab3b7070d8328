import { join } from "node:path";
import type { Clock } from "../machinery/api/clock.ts";
import { mastersGroup } from "../machinery/api/user-info.ts";
import { formatKubeconfig } from "../machinery/client/kubeconfig.ts";
import { writePrivateFile } from "../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../machinery/files/private-file.ts";
import { encodePrivateKeyPem, parsePrivateKeyPem } from "../pki/keys.ts";
import { noSubjectAltNames } from "../pki/subject-alt-names.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { CertificateAuthority } from "../pki/certificate-authority.ts";
import { issueOwnCertificate } from "../features/certificates/authorities/issue-own-certificate.ts";
import type { PemKeyPair, OwnCertificateOptions } from "../features/certificates/authorities/issue-own-certificate.ts";
import { isIssuedBy, splitKeyPair } from "./tls/serving-certificate.ts";

export interface AdminKubeconfigOptions {
  readonly dataDirectory: string;
  /** The CA of client certificates. */
  readonly authority: () => CertificateAuthority;
  readonly clock: Clock;
  /** The URL with the actual port. */
  readonly server: string;
  /** PEM of the CAs that verify the serving certificate. */
  readonly caCertificates: () => string;
  /** How long a new client certificate is valid. */
  readonly lifetimeMilliseconds: number;
  /** A certificate that is revoked is replaced. */
  readonly isRevoked: (certificate: Certificate) => boolean;
  /** Where others learn of that. Undefined: nowhere. */
  readonly revocation?: OwnCertificateOptions["revocation"];
}

export interface AdminKubeconfig {
  readonly file: string;
  /** The administrator's client certificate. */
  readonly certificate: Certificate | undefined;
}

/**
 * Writes `admin.kubeconfig` (0600): everything that kubectl needs to connect as the administrator.
 */
export function writeAdminKubeconfig(options: AdminKubeconfigOptions): AdminKubeconfig {
  const { dataDirectory, server, caCertificates } = options;
  const file = join(dataDirectory, "admin.kubeconfig");
  const { certificate, key } = adminCredentials(options);
  const text = formatKubeconfig({
    server,
    caCertificates: caCertificates(),
    user: "admin",
    // Earlier versions stored the key as PKCS #8, which some clients cannot read.
    credentials: { type: "certificate", certificate, key: encodePrivateKeyPem(parsePrivateKeyPem(key)) },
  });
  if (readPrivateFile(file) !== text) writePrivateFile(file, text);
  return { file, certificate: parseCertificatesPem(certificate)[0] };
}

/**
 * The administrator's client certificate. A new one in the second half of its lifetime, so that a copy of the kubeconfig is
 * good for at least half of it; and when it is revoked, or valid for longer than it should be.
 */
function adminCredentials(options: AdminKubeconfigOptions): PemKeyPair {
  const { dataDirectory, clock, lifetimeMilliseconds, isRevoked, revocation } = options;
  const authority = options.authority();
  const file = join(dataDirectory, "admin.pem");
  const kept = splitKeyPair(readPrivateFile(file) ?? "");
  if (kept !== undefined) {
    const [certificate] = parseCertificatesPem(kept.certificate);
    const isOfAuthority = certificate !== undefined && isIssuedBy(certificate, authority);
    const leftMilliseconds = (certificate?.notAfter ?? 0) - clock.now();
    const isYoung =
      leftMilliseconds > Math.min(lifetimeMilliseconds / 2, authority.certificate.notAfter - clock.now() - 1) &&
      leftMilliseconds <= lifetimeMilliseconds;
    if (isOfAuthority && !isRevoked(certificate) && isYoung) return kept;
  }
  const made = issueOwnCertificate(
    {
      subject: { commonName: "admin", organizations: [mastersGroup] },
      extendedKeyUsages: ["clientAuth"],
      subjectAltNames: noSubjectAltNames,
    },
    { authority, clock, lifetimeMilliseconds, revocation },
  );
  // Every certificate of this name may be revoked: then another one would not help either.
  const isRevokedToo = parseCertificatesPem(made.certificate).some((certificate) => isRevoked(certificate));
  if (kept !== undefined && isRevokedToo) return kept;
  writePrivateFile(file, made.key + made.certificate);
  return made;
}
