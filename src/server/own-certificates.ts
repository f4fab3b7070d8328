import { certificateIdentity } from "../features/access/credentials/client-certificate.ts";
import { certificateRecord, fingerprintRecordName } from "../features/certificates/inventory/certificate-record.ts";
import { issuedCertificateResource } from "../features/certificates/resources.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import type { Names } from "../machinery/api/names.ts";
import { withCredential } from "../machinery/authentication/presented-credential.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { ignoring } from "../machinery/loops/controller.ts";
import type { Certificate } from "../pki/certificate.ts";
import { serverUser } from "./loopback-users.ts";

/** Whether a certificate that the server made for itself, or for the administrator, is revoked. */
export const revokedIn =
  ({ refusalOf }: Pick<ConnectedRevocation, "refusalOf">) =>
  (certificate: Certificate): boolean =>
    refusalOf(withCredential({ ...serverUser }, certificateIdentity(certificate))) !== undefined;

export interface OwnCertificate {
  readonly certificate: Certificate;
  readonly signerName: string;
  readonly username: string;
}

/** Puts such a certificate into the inventory, where it can be found and revoked like any other. */
export async function recordOwnCertificate(
  { client, names }: { readonly client: ApiClient; readonly names: Names },
  { certificate, ...spec }: OwnCertificate,
): Promise<void> {
  const recordName = fingerprintRecordName(certificate);
  const records = client.resource(issuedCertificateResource(names));
  if ((await records.find(recordName)) !== undefined) return;
  const record = certificateRecord(names, { recordName, certificate, request: { metadata: {}, spec } });
  await ignoring([409], records.create(record));
}
