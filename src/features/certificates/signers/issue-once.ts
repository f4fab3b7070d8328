import { ApiError } from "../../../machinery/api/api-error.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { encodeDistinguishedName } from "../../../pki/distinguished-name.ts";
import { encodeSubjectAltNames } from "../../../pki/subject-alt-names.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { rememberIssued } from "../requests/issued-text.ts";
import type { SignerLifetime } from "./configured-signer.ts";
import { issueCertificate } from "./issue.ts";
import type { IssueOptions } from "./issue.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { certificateRecord, signedRecordName } from "../inventory/certificate-record.ts";
import type { ControllerContext } from "../../../machinery/loops/controller.ts";
import { issuedCertificateResource } from "../resources.ts";

export interface IssueOnceOptions {
  /** The cached records. */
  readonly records: { get(name: string): IssuedCertificate | undefined };
  readonly stored: CertificateSigningRequest;
  /** The parsed PKCS #10 request of `stored`. */
  readonly request: CertificateRequest;
  readonly authority: SigningAuthority;
  readonly lifetime: SignerLifetime;
  readonly revocationUrls: IssueOptions["revocationUrls"];
}

export type IssuedOnce =
  | {
      readonly type: "issued";
      /** Base64 of the PEM for `status.certificate`. */
      readonly certificate: string;
    }
  /** The certificate was issued before and has expired. A request is never signed twice. */
  | { readonly type: "ended" };

/**
 * Issues the only certificate of a request. The certificate is recorded before it is returned, under a name that is
 * unique for the request. So even with several processes, failures and restarts, only one succeeds in creating the
 * record. All others return the recorded certificate. Throws what the client throws, and PkiError for a request that
 * cannot be signed.
 */
export async function issueOnce(context: ControllerContext, options: IssueOnceOptions): Promise<IssuedOnce> {
  const { client, clock, names } = context;
  const { records, stored, request, authority, lifetime, revocationUrls } = options;
  const { uid = "" } = stored.metadata;
  const recordName = signedRecordName(uid);
  const known = records.get(recordName);
  if (known !== undefined) return handedOut(known, { uid, request, now: clock.now() });

  const { expirationSeconds = lifetime.defaultSeconds, usages = [] } = stored.spec;
  const { maximumSeconds: maximumLifetimeSeconds } = lifetime;
  const now = clock.now();
  const signed = issueCertificate({
    request,
    usages,
    expirationSeconds,
    authority,
    maximumLifetimeSeconds,
    now,
    ...(revocationUrls !== undefined && { revocationUrls }),
  });
  const pem = signed.pem + authority.chainPem;
  const certificate = Buffer.from(pem, "utf8").toString("base64");
  if (authority.chainPem === "") rememberIssued(certificate, signed.certificate);
  const writer = client.resource(issuedCertificateResource(names));
  const record = certificateRecord(names, {
    recordName,
    certificate: signed.certificate,
    request: stored,
    text: certificate,
  });
  try {
    await writer.create(record);
    return { type: "issued", certificate };
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
    return handedOut(await writer.get(recordName), { uid, request, now });
  }
}

interface Wanted {
  readonly uid: string;
  readonly request: CertificateRequest;
  readonly now: number;
}

/** Returns the certificate of a record. Throws when the record is not for this request: that needs a person. */
function handedOut({ metadata, spec }: IssuedCertificate, { uid, request, now }: Wanted): IssuedOnce {
  const { certificate = "" } = spec;
  const [leaf] = parseCertificatesPem(Buffer.from(certificate, "base64"));
  if (spec.requestUid !== uid || leaf === undefined || !answers(leaf, request)) {
    throw new Error(`the record ${metadata.name} does not contain a certificate for this request: delete the record`);
  }
  return leaf.notAfter <= now ? { type: "ended" } : { type: "issued", certificate };
}

const answers = (leaf: Certificate, request: CertificateRequest): boolean =>
  !leaf.isCA &&
  leaf.publicKey.spki.equals(request.publicKey.spki) &&
  leaf.rawSubject.equals(encodeDistinguishedName(request.subject)) &&
  encodeSubjectAltNames(leaf.subjectAltNames).equals(encodeSubjectAltNames(request.subjectAltNames));
