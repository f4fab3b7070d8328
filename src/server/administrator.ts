import type { Logger } from "pino";
import { certificateIdentity } from "../features/access/credentials/certificate-identity.ts";
import { certificateRecord, fingerprintRecordName } from "../features/certificates/inventory/certificate-record.ts";
import { issuedCertificateResource } from "../features/certificates/resources.ts";
import { apiserverClient } from "../features/certificates/signers/apiserver-client.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import { timestamp } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import { periodically } from "../machinery/api/periodically.ts";
import { withCredential } from "../machinery/authentication/presented-credential.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { ignoring } from "../machinery/loops/controller.ts";
import type { Certificate } from "../pki/certificate.ts";
import { writeAdminKubeconfig } from "./admin-kubeconfig.ts";
import type { AdminKubeconfigOptions } from "./admin-kubeconfig.ts";
import { serverUser } from "./loopback-users.ts";

export interface AdministratorOptions extends Omit<AdminKubeconfigOptions, "isRevoked"> {
  readonly names: Names;
  readonly client: ApiClient;
  readonly revocation: ConnectedRevocation;
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

/** Writes the kubeconfig, and puts its certificate into the inventory. */
export async function openAdministrator(options: AdministratorOptions): Promise<Administrator> {
  const { names, client, revocation, log } = options;
  const isRevoked = (certificate: Certificate): boolean =>
    revocation.refusalOf(withCredential({ ...serverUser }, certificateIdentity(certificate))) !== undefined;
  let recorded: Certificate | undefined;
  const look = async (): Promise<string> => {
    const { file, certificate } = writeAdminKubeconfig({ ...options, isRevoked });
    if (certificate === undefined || recorded?.der.equals(certificate.der) === true) return file;
    await recordAdministrator(client, names, certificate);
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
        if (!isStopped) look().catch(onFailure);
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

/** Puts the administrator's certificate into the inventory, where it can be found and revoked as every other. */
async function recordAdministrator(client: ApiClient, names: Names, certificate: Certificate): Promise<void> {
  const recordName = fingerprintRecordName(certificate);
  const records = client.resource(issuedCertificateResource(names));
  if ((await records.find(recordName)) !== undefined) return;
  const spec = { signerName: apiserverClient.nameIn(names), username: certificate.subject.commonName };
  const record = certificateRecord(names, { recordName, certificate, request: { metadata: {}, spec } });
  await ignoring([409], records.create(record));
}
