import { ApiError } from "../../../machinery/api/api-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { encodeDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { encodeSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { rememberIssued } from "../requests/issued-text.ts";
import type { SignerLifetime } from "./configured-signer.ts";
import { issueCertificateWith } from "./issue.ts";
import type { IssueOptions } from "./issue.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { certificateRecord, signedRecordName } from "../inventory/certificate-record.ts";
import type { ControllerContext } from "../../../machinery/loops/controller.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../resources.ts";

export interface IssueOnceOptions {
  readonly records: { get(name: string): IssuedCertificate | undefined };
  readonly stored: CertificateSigningRequest;
  /** The parsed PKCS #10 request of `stored`. */
  readonly request: CertificateRequest;
  readonly authority: SigningAuthority;
  readonly lifetime: SignerLifetime;
  readonly revocationUrls: IssueOptions["revocationUrls"];
}

/** `ended`: the certificate was issued earlier and has expired. A request is never signed twice. */
export type IssuedOnce = "issued" | "ended";

/**
 * Issues the only certificate of a request. Writes it into the request's status, and into a record whose name is unique for the request. In
 * the server's process, both writes are one transaction; otherwise the record comes first. So even with several processes, failures and
 * restarts, only one process succeeds in creating the record, and all others hand out the recorded certificate. Rejects with what the
 * client throws, and with PkiError for a request that cannot be signed.
 */
export async function issueOnce(context: ControllerContext, options: IssueOnceOptions): Promise<IssuedOnce> {
  const { client, clock, names } = context;
  const { records, stored, request, authority, lifetime, revocationUrls } = options;
  const { uid = "" } = stored.metadata;
  const recordName = signedRecordName(uid);
  const known = records.get(recordName);
  const handOut = async (issued: IssuedCertificate): Promise<IssuedOnce> => {
    const certificate = recordedCertificate(issued, { uid, request, now: clock.now() });
    if (certificate === undefined) return "ended";
    await writeStatus(client, { names, stored, certificate });
    return "issued";
  };
  if (known !== undefined) return handOut(known);

  const { expirationSeconds = lifetime.defaultSeconds, usages = [] } = stored.spec;
  const { maximumSeconds: maximumLifetimeSeconds } = lifetime;
  const now = clock.now();
  const signed = await issueCertificateWith({
    request,
    usages,
    expirationSeconds,
    authority,
    maximumLifetimeSeconds,
    now,
    revocationUrls,
  });
  const pem = signed.pem + authority.chainPem;
  const certificate = Buffer.from(pem, "utf8").toString("base64");
  rememberIssued(certificate, signed.certificate);
  const record = certificateRecord({
    recordName,
    certificate: signed.certificate,
    request: stored,
    text: certificate,
  });
  try {
    await client.together(
      (by) => by.resource(issuedCertificateResource(names)).create(record),
      (by) => writeStatus(by, { names, stored, certificate }),
    );
    return "issued";
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
    return handOut(await client.resource(issuedCertificateResource(names)).get(recordName));
  }
}

const writeStatus = (
  client: ApiClient,
  {
    names,
    stored,
    certificate,
  }: { readonly names: Names; readonly stored: CertificateSigningRequest; readonly certificate: string },
): Promise<unknown> =>
  client
    .resource(certificateSigningRequestResource(names))
    .update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });

interface Wanted {
  readonly uid: string;
  readonly request: CertificateRequest;
  readonly now: number;
}

/**
 * The certificate of a record, for `status.certificate`. Undefined when it has expired. Throws when the record is not for this request,
 * which a person must correct.
 */
function recordedCertificate({ metadata, spec }: IssuedCertificate, { uid, request, now }: Wanted): string | undefined {
  const { certificate = "" } = spec;
  const [leaf] = parseCertificatesPem(Buffer.from(certificate, "base64"));
  if (spec.requestUid !== uid || leaf === undefined || !answers(leaf, request)) {
    throw new Error(`the record ${metadata.name} does not contain a certificate for this request: delete the record`);
  }
  return leaf.notAfter <= now ? undefined : certificate;
}

const answers = (leaf: Certificate, request: CertificateRequest): boolean =>
  !leaf.isCA &&
  leaf.publicKey.spki.equals(request.publicKey.spki) &&
  leaf.rawSubject.equals(encodeDistinguishedName(request.subject)) &&
  encodeSubjectAltNames(leaf.subjectAltNames).equals(encodeSubjectAltNames(request.subjectAltNames));
