import { join } from "node:path";
import type { Clock } from "../machinery/api/clock.ts";
import { mastersGroup } from "../machinery/api/user-info.ts";
import { formatKubeconfig } from "../machinery/client/kubeconfig.ts";
import { writePrivateFile } from "../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../machinery/files/private-file.ts";
import { encodePrivateKeyPem, parsePrivateKeyPem } from "../pki/keys.ts";
import { noSubjectAltNames } from "../pki/subject-alt-names.ts";
import { parseCertificatesPem } from "../pki/trust-anchors.ts";
import type { ClusterAuthority } from "../features/certificates/authorities/cluster-authority.ts";
import { issueCertificate, serverCertificateLifetimeMilliseconds } from "./issued-certificate.ts";
import type { KeyPair } from "./issued-certificate.ts";
import { isIssuedBy, parseKeyPair } from "./serving-certificate.ts";

export interface AdminKubeconfigOptions {
  readonly dataDirectory: string;
  readonly authority: ClusterAuthority;
  readonly clock: Clock;
  /** The URL with the actual port. */
  readonly server: string;
  /** PEM of the CAs that verify the serving certificate. */
  readonly caCertificates: string;
}

/**
 * Writes `admin.kubeconfig` (0600): everything that kubectl needs to connect as the administrator. Returns its path.
 */
export function writeAdminKubeconfig(options: AdminKubeconfigOptions): string {
  const { dataDirectory, server, caCertificates } = options;
  const file = join(dataDirectory, "admin.kubeconfig");
  const { certificate, key } = adminCredentials(options);
  const text = formatKubeconfig({
    server,
    caCertificates,
    user: "admin",
    // Earlier versions stored the key as PKCS #8, which some clients cannot read.
    credentials: { type: "certificate", certificate, key: encodePrivateKeyPem(parsePrivateKeyPem(key)) },
  });
  if (readPrivateFile(file) !== text) writePrivateFile(file, text);
  return file;
}

/** The administrator's client certificate. Renewed when the server starts in the last third of its lifetime. */
function adminCredentials({ dataDirectory, authority, clock }: AdminKubeconfigOptions): KeyPair {
  const file = join(dataDirectory, "admin.pem");
  const kept = parseKeyPair(readPrivateFile(file) ?? "");
  if (kept !== undefined) {
    const [certificate] = parseCertificatesPem(kept.certificate);
    const isOfAuthority = certificate !== undefined && isIssuedBy(certificate, authority);
    const leftMilliseconds = (certificate?.notAfter ?? 0) - clock.now();
    if (isOfAuthority && leftMilliseconds > serverCertificateLifetimeMilliseconds / 3) return kept;
  }
  const made = issueCertificate(
    {
      subject: { commonName: "admin", organizations: [mastersGroup] },
      extendedKeyUsages: ["clientAuth"],
      subjectAltNames: noSubjectAltNames,
    },
    authority,
    clock,
  );
  writePrivateFile(file, made.key + made.certificate);
  return made;
}
