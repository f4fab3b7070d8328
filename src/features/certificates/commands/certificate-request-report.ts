import { certificateRequestSummary } from "../requests/certificate-request-state.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { checkRequestSignature, parseRequestField } from "../../../pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { keyTypeOf } from "../../../pki/keys/keys.ts";
import { oids } from "../../../pki/der/object-identifiers.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import type { SubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { issuingFaults } from "../signers/issue.ts";
import type { SignerRules } from "../signers/signer.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { approvalWarnings } from "./approval-warnings.ts";
import type { RequestContext } from "./approval-warnings.ts";

/** The facts that a person should know before deciding on a request. */
export interface CertificateRequestReport {
  readonly name: string;
  readonly created: string;
  /** Such as `Approved,Issued`, as kubectl shows it. */
  readonly state: string;
  readonly conditions: readonly { type: string; reason?: string; message?: string }[];
  readonly requester: { readonly username: string; readonly groups: readonly string[] };
  readonly signerName: string;
  readonly expirationSeconds?: number;
  readonly usages: readonly string[];
  /** Absent when the request cannot be parsed. */
  readonly request?: {
    readonly subject: string;
    readonly subjectAltNames: SubjectAltNames;
    readonly key: string;
    readonly signatureAlgorithm: string;
    readonly extensions: readonly { readonly id: string; readonly name?: string; readonly isCritical: boolean }[];
  };
  readonly signerRules: { readonly areKnown: boolean; readonly broken: readonly string[] };
  readonly warnings: readonly string[];
}

const extensionNames = new Map<string, string>(Object.entries(oids).map(([name, id]) => [id, name]));

/**
 * Why a signer of this server will fail a request, as far as this is known without its CA. Empty for other signers, whose rules are
 * unknown.
 */
const brokenRules = (
  request: CertificateRequest,
  { signer, usages }: { readonly signer: SignerRules | undefined; readonly usages: readonly string[] },
): readonly string[] =>
  signer === undefined ? [] : [...signer.faults(request, usages), ...issuingFaults(request, [])];

/** Decodes a request and checks it against its signer's rules, and its names against the server's and the node's. */
export function certificateRequestReport(
  object: CertificateSigningRequest,
  { names, ...context }: RequestContext & { readonly names: Names },
): CertificateRequestReport {
  const { metadata, spec, status } = object;
  const { username = "", groups = [], signerName, usages = [], expirationSeconds } = spec;
  const request = orPkiError(() => parse(spec.request ?? ""));
  const signer = findWellKnownSigner(names, signerName);
  const broken = request instanceof PkiError ? [request.message] : brokenRules(request, { signer, usages });
  return {
    name: metadata.name ?? "",
    created: metadata.creationTimestamp ?? "",
    state: certificateRequestSummary(object),
    conditions: (status.conditions ?? []).map(({ type, reason, message }) => ({
      type,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    })),
    requester: { username, groups },
    signerName,
    ...(expirationSeconds !== undefined && { expirationSeconds }),
    usages,
    ...(!(request instanceof PkiError) && { request: decoded(request) }),
    signerRules: { areKnown: signer !== undefined, broken },
    warnings: [
      ...broken.map((rule) => `the signer will fail this request: ${rule}`),
      ...(request instanceof PkiError ? [] : approvalWarnings({ names, spec, request, context })),
    ],
  };
}

function parse(base64: string): CertificateRequest {
  const request = parseRequestField(base64);
  checkRequestSignature(request);
  return request;
}

function decoded(request: CertificateRequest): NonNullable<CertificateRequestReport["request"]> {
  return {
    subject: formatDistinguishedName(request.subject),
    subjectAltNames: request.subjectAltNames,
    key: keyTypeOf(request.publicKey),
    signatureAlgorithm: request.signatureAlgorithm?.name ?? "unknown",
    extensions: request.extensions.map(({ id, isCritical }) => {
      const name = extensionNames.get(id);
      return { id, ...(name !== undefined && { name }), isCritical };
    }),
  };
}
