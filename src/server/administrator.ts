import type { Logger } from "pino";
import { apiserverClient } from "../features/certificates/signers/apiserver-client.ts";
import type { RevocationSettings } from "../features/certificates/settings.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import { timestamp } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import { periodically } from "../machinery/api/periodically.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import type { Certificate } from "../pki/certificate.ts";
import { writeAdminKubeconfig } from "./admin-kubeconfig.ts";
import type { AdminKubeconfigOptions } from "./admin-kubeconfig.ts";
import { recordOwnCertificate } from "../features/certificates/inventory/certificate-record.ts";
import { certificateIdentity } from "../features/access/credentials/client-certificate.ts";
import { withCredential } from "../machinery/authentication/presented-credential.ts";
import { serverUser } from "./loopback-users.ts";

interface AdministratorOptions extends Omit<AdminKubeconfigOptions, "isRevoked" | "revocation"> {
  readonly names: Names;
  readonly client: ApiClient;
  readonly revocation: ConnectedRevocation;
  /** Where others learn of it. Undefined: nowhere. */
  readonly revocationSettings: RevocationSettings | undefined;
  readonly log: Pick<Logger, "info" | "error">;
}

/** The administrator's kubeconfig in the data directory. */
export interface Administrator {
  readonly kubeconfigFile: string;
  /** Renews its certificate before it ends, and as soon as it is revoked, until it is stopped. */
  keep(): { stop(): void };
}

/** How often to check the certificate. */
const intervalMilliseconds = 60_000;

/** Writes the kubeconfig, and puts its certificate into the inventory, where it can be found and revoked like any other. */
export async function openAdministrator(options: AdministratorOptions): Promise<Administrator> {
  const { names, client, revocation, revocationSettings, log } = options;
  const isRevoked = revokedIn(revocation);
  let recorded: Certificate | undefined;
  const look = async (): Promise<string> => {
    const { file, certificate } = writeAdminKubeconfig({ ...options, isRevoked, revocation: revocationSettings });
    if (certificate === undefined || recorded?.der.equals(certificate.der) === true) return file;
    const { commonName: username } = certificate.subject;
    await recordOwnCertificate({ client, names }, { certificate, signerName: apiserverClient.nameIn(names), username });
    if (recorded !== undefined) {
      log.info({ file, notAfter: timestamp(certificate.notAfter) }, "the administrator's certificate was renewed");
    }
    recorded = certificate;
    return file;
  };
  const kubeconfigFile = await look();
  return {
    kubeconfigFile,
    keep() {
      const onFailure = (error: unknown): void =>
        log.error({ err: error, file: kubeconfigFile }, "could not renew the administrator's certificate, will retry");
      const looks = periodically({
        milliseconds: intervalMilliseconds,
        task: async () => void (await look()),
        onFailure,
      });
      let isStopped = false;
      revocation.onRevoked(() => {
        if (!isStopped && recorded !== undefined && isRevoked(recorded)) look().catch(onFailure);
      });
      return {
        stop() {
          isStopped = true;
          looks.stop();
        },
      };
    },
  };
}

/** Whether a certificate that the server made for itself, or for the administrator, is revoked. */
export const revokedIn =
  ({ refusalOf }: Pick<ConnectedRevocation, "refusalOf">) =>
  (certificate: Certificate): boolean =>
    refusalOf(withCredential({ ...serverUser }, certificateIdentity(certificate))) !== undefined;
