import { certificateRecord, fingerprintRecordName } from "../features/certificates/inventory/certificate-record.ts";
import { issuedCertificateResource } from "../features/certificates/resources.ts";
import { apiserverClient } from "../features/certificates/signers/apiserver-client.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { ignoring } from "../machinery/loops/controller.ts";
import type { Certificate } from "../pki/certificate.ts";

/** Puts the administrator's certificate into the inventory, where it can be found and revoked as every other. */
export async function recordAdministrator(client: ApiClient, names: Names, certificate: Certificate): Promise<void> {
  const recordName = fingerprintRecordName(certificate);
  const records = client.resource(issuedCertificateResource(names));
  if ((await records.find(recordName)) !== undefined) return;
  const spec = { signerName: apiserverClient.nameIn(names), username: certificate.subject.commonName };
  const record = certificateRecord(names, { recordName, certificate, request: { metadata: {}, spec } });
  await ignoring([409], records.create(record));
}
