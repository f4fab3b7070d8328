import { parseRequestField } from "../../../pki/requests/certificate-request.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { allSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";

/** The help text of `--subject`. */
export const subjectFilterHelp =
  "only those whose subject or names contain this text, such as CN=web or web.example.com";

/** Whether one of the names contains a text, ignoring case. True without a text. */
const anyContains = (names: readonly string[], text: string | undefined): boolean =>
  text === undefined || names.some((name) => name.toLowerCase().includes(text.toLowerCase()));

/** Whether the subject or a name of an issued certificate contains a text. */
export const hasNameWith = (text: string | undefined, { spec }: IssuedCertificate): boolean =>
  anyContains([spec.subject ?? "", ...allSubjectAltNames(spec)], text);

/** Whether the subject or a name in a request contains a text. True without a text. False for a request that cannot be read. */
export function isRequestFor(text: string | undefined, { spec }: CertificateSigningRequest): boolean {
  if (text === undefined) return true;
  const request = orPkiError(() => parseRequestField(spec.request ?? ""));
  if (request instanceof PkiError) return false;
  return anyContains([formatDistinguishedName(request.subject), ...allSubjectAltNames(request.subjectAltNames)], text);
}
