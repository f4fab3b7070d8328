import { join } from "node:path";
import { apiserverClient } from "../features/certificates/signers/apiserver-client.ts";
import type { RevocationSettings } from "../features/certificates/settings.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import { timestamp } from "../machinery/api/clock.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import { periodically } from "../machinery/scheduling/periodically.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import type { Certificate } from "../pki/certificates/certificate.ts";
import type { Stores } from "../machinery/registry/stores.ts";
import { recordOwnCertificate } from "../features/certificates/inventory/certificate-record.ts";
import { certificateIdentity } from "../features/access/credentials/client-certificate.ts";
import { withCredential } from "../machinery/authentication/presented-credential.ts";
import { serverUser } from "./loopback-users.ts";
import { mastersGroup } from "../machinery/api/user-info.ts";
import { updateKubeconfig } from "../machinery/client/kubeconfig/update-kubeconfig.ts";
import { writePrivateFile } from "../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../machinery/files/private-file.ts";
import { encodePrivateKeyPem, parsePrivateKeyPem } from "../pki/keys/keys.ts";
import { noSubjectAltNames } from "../pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../pki/certificates/certificates-pem.ts";
import type { CertificateAuthority } from "../pki/certificates/certificate-authority.ts";
import type { OwnCertificateOptions } from "../features/certificates/authorities/issue-own-certificate.ts";
import { administratorFile } from "./data-directory/data-directory-places.ts";
import type { PemKeyPair } from "../pki/key-stores/pem-key-pair.ts";
import { loadOrIssueCertificate } from "./tls/load-or-issue-certificate.ts";
import type { Log } from "../machinery/logging/log.ts";

interface AdministratorOptions extends Omit<AdminKubeconfigOptions, "isRevoked" | "revocation"> {
  readonly names: Names;
  readonly client: ApiClient;
  readonly stores: Stores;
  readonly revocation: ConnectedRevocation;
  /** Where revocation lists and OCSP are served. Undefined: nowhere. */
  readonly revocationSettings: RevocationSettings | undefined;
  /** Calls `listener` after each change of the CAs that the kubeconfig depends on. */
  readonly onAuthorityChange: (listener: () => void) => void;
  readonly log: Pick<Log, "info" | "error">;
}

/** The administrator's kubeconfig in the data directory. */
export interface Administrator {
  readonly kubeconfigFile: string;
  /** Renews its certificate before it expires, and as soon as it is revoked or a CA is replaced, until `stop` is called. */
  keep(): { stop(): void };
}

/** How often to check the certificate. */
const intervalMilliseconds = 60_000;

/** Writes the kubeconfig, and records its certificate in the inventory, where it can be found and revoked like any other. */
export async function openAdministrator(options: AdministratorOptions): Promise<Administrator> {
  const { names, client, stores, revocation, revocationSettings, onAuthorityChange, log } = options;
  const isRevoked = revokedIn(revocation);
  let recorded: Certificate | undefined;
  const renewIfNeeded = async (): Promise<string> => {
    const { file, certificate } = writeAdminKubeconfig({ ...options, isRevoked, revocation: revocationSettings });
    if (certificate === undefined || recorded?.der.equals(certificate.der) === true) return file;
    const { commonName: username } = certificate.subject;
    const signerName = apiserverClient.nameIn(names);
    await recordOwnCertificate({ client, names, stores }, { certificate, signerName, username });
    if (recorded !== undefined) {
      log.info({ file, notAfter: timestamp(certificate.notAfter) }, "the administrator's certificate was renewed");
    }
    recorded = certificate;
    return file;
  };
  const kubeconfigFile = await renewIfNeeded();
  return {
    kubeconfigFile,
    keep() {
      const onFailure = (error: unknown): void =>
        log.error({ err: error, file: kubeconfigFile }, "could not renew the administrator's certificate, will retry");
      const checks = periodically({
        milliseconds: intervalMilliseconds,
        task: async () => void (await renewIfNeeded()),
        onFailure,
      });
      let isStopped = false;
      const renewNow = (): void => {
        if (!isStopped) renewIfNeeded().catch(onFailure);
      };
      revocation.onRevoked(() => {
        if (recorded !== undefined && isRevoked(recorded)) renewNow();
      });
      onAuthorityChange(renewNow);
      return {
        stop() {
          isStopped = true;
          checks.stop();
        },
      };
    },
  };
}

/** Returns a function that tells whether a certificate that the server made for itself, or for the administrator, is revoked. */
export const revokedIn =
  ({ refusalOf }: Pick<ConnectedRevocation, "refusalOf">) =>
  (certificate: Certificate): boolean =>
    refusalOf(withCredential({ ...serverUser }, certificateIdentity(certificate))) !== undefined;

interface AdminKubeconfigOptions {
  readonly dataDirectory: string;
  /** The CA of client certificates. */
  readonly authority: () => CertificateAuthority;
  readonly clock: Clock;
  /** The server's URL, with the actual port. */
  readonly server: string;
  /** PEM of the CAs that verify the serving certificate. */
  readonly caCertificates: () => string;
  /** How long a new client certificate is valid. */
  readonly lifetimeMilliseconds: number;
  /** Whether the certificate is revoked, and must be replaced. */
  readonly isRevoked: (certificate: Certificate) => boolean;
  /** The addresses of revocation lists and OCSP to put into the certificate. Undefined: none. */
  readonly revocation: OwnCertificateOptions["revocation"];
}

interface AdminKubeconfig {
  readonly file: string;
  /** The administrator's client certificate. */
  readonly certificate: Certificate | undefined;
}

/**
 * Writes `admin.kubeconfig` (0600), which contains everything that kubectl needs to connect as the administrator. Other changes by its
 * user, such as a namespace, stay.
 */
export function writeAdminKubeconfig(options: AdminKubeconfigOptions): AdminKubeconfig {
  const { dataDirectory, server, caCertificates } = options;
  const file = join(dataDirectory, "admin.kubeconfig");
  const { certificate, key } = adminCredentials(options);
  const before = readPrivateFile(file);
  const text = updateKubeconfig(before ?? "", {
    server,
    caCertificates: caCertificates(),
    user: "admin",
    // Earlier versions stored the key as PKCS #8, which some clients cannot read.
    credentials: { type: "certificate", certificate, key: encodePrivateKeyPem(parsePrivateKeyPem(key)) },
  });
  if (before !== text) writePrivateFile(file, text);
  return { file, certificate: parseCertificatesPem(certificate)[0] };
}

/**
 * The administrator's client certificate. It is replaced in the second half of its lifetime, so that a copy of the kubeconfig can be used
 * for at least half of the lifetime. It is also replaced when it is revoked, not valid yet, or valid for longer than it should be.
 */
function adminCredentials({ dataDirectory, authority: current, ...options }: AdminKubeconfigOptions): PemKeyPair {
  const { clock, lifetimeMilliseconds } = options;
  const authority = current();
  return loadOrIssueCertificate(
    {
      subject: { commonName: "admin", organizations: [mastersGroup] },
      extendedKeyUsages: ["clientAuth"],
      subjectAltNames: noSubjectAltNames,
    },
    {
      ...options,
      authority,
      file: administratorFile(dataDirectory),
      isStillGood: (_certificate, leftMilliseconds) =>
        leftMilliseconds > Math.min(lifetimeMilliseconds / 2, authority.certificate.notAfter - clock.now() - 1) &&
        leftMilliseconds <= lifetimeMilliseconds,
    },
  );
}
