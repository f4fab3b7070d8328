import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { fingerprintOf, serialNumberHex } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import type { CertificateFacts } from "../../revocation/index.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import type { IssuedCertificate } from "./issued-certificates.ts";
import { issuedCertificateResource } from "../resources.ts";
import type { ApiClient, NewObject } from "../../../machinery/client/api-client.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";

/** 160 bits of the fingerprint are enough to avoid collisions, even deliberate ones. */
const nameLength = 40;

/**
 * The name of the record of a certificate that `csrsigning` did not sign. It follows from the fingerprint, so that a certificate is
 * recorded once.
 */
export const fingerprintRecordName = (certificate: Certificate): string =>
  fingerprintOf(certificate).slice(0, nameLength);

/**
 * The name of the record of the certificate that `csrsigning` issues for a request. Each request has only one such name, so a request is
 * signed only once.
 */
export const signedRecordName = (requestUid: string): string => `request-${requestUid}`;

export const isRecordOf = ({ spec }: IssuedCertificate, certificate: Certificate): boolean =>
  spec.fingerprint === fingerprintOf(certificate);

/** The facts of a recorded certificate by which revocations find it. */
export const recordFacts = ({ spec }: IssuedCertificate): CertificateFacts => ({
  fingerprint: spec.fingerprint,
  serialNumber: spec.serialNumber,
  issuer: spec.issuer ?? "",
  subject: spec.subject ?? "",
  notBefore: Date.parse(spec.notBefore),
});

interface RecordedCertificate {
  /** The record's own name. */
  readonly recordName: string;
  readonly certificate: Certificate;
  /** The request for the certificate. Its metadata is empty for certificates that the server issued by itself. */
  readonly request: {
    readonly metadata: Pick<CertificateSigningRequest["metadata"], "name" | "uid">;
    readonly spec: Pick<CertificateSigningRequest["spec"], "signerName" | "username">;
  };
  /** The request's `status.certificate`, with its chain, for when it must be returned again. */
  readonly text?: string;
}

/** Creates the record of a certificate and its request. */
export function certificateRecord({
  recordName,
  certificate,
  request,
  text,
}: RecordedCertificate): NewObject<IssuedCertificate> {
  const { dnsNames, ipAddresses, emailAddresses, uris } = certificate.subjectAltNames;
  const listed = (name: string, values: readonly string[]) => (values.length > 0 ? { [name]: [...values] } : {});
  const { username, signerName } = request.spec;
  const { name, uid } = request.metadata;
  return {
    metadata: { name: recordName },
    spec: {
      signerName,
      serialNumber: serialNumberHex(certificate),
      fingerprint: fingerprintOf(certificate),
      issuer: formatDistinguishedName(certificate.issuer),
      subject: formatDistinguishedName(certificate.subject),
      ...listed("dnsNames", dnsNames),
      ...listed("ipAddresses", ipAddresses),
      ...listed("emailAddresses", emailAddresses),
      ...listed("uris", uris),
      notBefore: timestamp(certificate.notBefore),
      notAfter: timestamp(certificate.notAfter),
      ...(username !== undefined && { username }),
      ...(name !== undefined && { requestName: name }),
      ...(uid !== undefined && { requestUid: uid }),
      ...(text !== undefined && { certificate: text }),
    },
  };
}

interface OwnCertificate {
  readonly certificate: Certificate;
  readonly signerName: string;
  /** The `username` of the record. Absent: the record has none. */
  readonly username?: string;
}

interface Inventory {
  readonly client: ApiClient;
  readonly names: Names;
  readonly stores: Stores;
}

/**
 * Puts a certificate that the server made for itself, or for the administrator, into the inventory, where it can be found and revoked like
 * any other. An existing record stays, even if it can't be read. Rejects like the client.
 */
export async function recordOwnCertificate(
  { client, names, stores }: Inventory,
  { certificate, ...spec }: OwnCertificate,
): Promise<void> {
  const recordName = fingerprintRecordName(certificate);
  if (stores.of(issuedCertificateResource).peek({ namespace: "", name: recordName }) !== undefined) return;
  const record = certificateRecord({ recordName, certificate, request: { metadata: {}, spec } });
  await ignoreCodes([409], client.resource(issuedCertificateResource(names)).create(record));
}
