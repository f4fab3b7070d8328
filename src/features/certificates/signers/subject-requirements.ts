import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { attributeTypes } from "../../../pki/der/object-identifiers.ts";
import type { ApprovalInput, FailedRequirement, RequestRequirements } from "../policy/approval-policy.ts";
import { findWellKnownSigner } from "./well-known-signers.ts";
import { matchesAny } from "../policy/name-pattern.ts";
import type { NamePattern } from "../policy/name-pattern.ts";

/** Returns the requirements of a rule that the subject does not meet. The subject determines the user and groups of the holder. */
export function subjectFaults(
  { request, username, groups, signerName }: ApprovalInput,
  { require, names }: { readonly require: RequestRequirements; readonly names: Names },
): FailedRequirement[] {
  const { commonName, organizations } = request.subject;
  const mayBeReserved = findWellKnownSigner(names, signerName)?.certifies === "node";
  const faults: FailedRequirement[] = [];
  const refuse = (name: string, { field, why }: Refusal): void => {
    faults.push({ field, message: `${JSON.stringify(name)} ${why}` });
  };
  if (commonName === "" && !isAllowed(require.commonNames ?? [], "")) {
    faults.push({ field: "commonNames", message: 'the request has none, which the rule allows with ""' });
  } else if (require.commonNames === undefined) {
    if (commonName !== username) refuse(commonName, { field: "commonNames", why: "is not the requester's user name" });
  } else if (!isAllowed(require.commonNames, commonName)) {
    refuse(commonName, { field: "commonNames", why: "is not allowed" });
  }
  for (const organization of organizations) {
    if (require.organizations === undefined) {
      if (!groups.includes(organization)) {
        refuse(organization, { field: "organizations", why: "is not a group of the requester" });
      }
    } else if (!isAllowed(require.organizations, organization)) {
      refuse(organization, { field: "organizations", why: "is not allowed" });
    }
  }
  if (!mayBeReserved) {
    const why = "is reserved: no policy can approve it";
    if (isReserved(commonName)) refuse(commonName, { field: "commonNames", why });
    for (const one of organizations.filter(isReserved)) refuse(one, { field: "organizations", why });
  }
  return [...faults, ...unusualSubjectFaults(request.subject)];
}

interface Refusal {
  readonly field: "commonNames" | "organizations";
  readonly why: string;
}

/**
 * Reports everything in a subject except one common name and organizations, because programs disagree about the meaning of other
 * attributes.
 */
export function unusualSubjectFaults({ relativeNames }: CertificateRequest["subject"]): FailedRequirement[] {
  const attributes = relativeNames.flat();
  const faults: FailedRequirement[] = [];
  if (attributes.some(({ type }) => type !== attributeTypes.commonName && type !== attributeTypes.organizationName)) {
    faults.push({ field: "subject", message: "only a common name and organizations are allowed" });
  }
  // Programs disagree about which of several common names is the user.
  if (attributes.filter(({ type }) => type === attributeTypes.commonName).length > 1) {
    faults.push({ field: "subject", message: "only one common name is allowed" });
  }
  return faults;
}

/** Whether a name is reserved for users and groups of the system itself: nodes, accounts, components, administrators. */
export const isReserved = (name: string): boolean => /^\s*system:/i.test(name);

/**
 * Whether a pattern allows a name. A wildcard matches only visible ASCII characters. Blanks, control characters and letters that look like
 * others are allowed only where the policy contains them literally.
 */
export const isAllowed = (patterns: readonly NamePattern[], name: string): boolean =>
  /^[\x21-\x7e]*$/.test(name) ? matchesAny(patterns, name) : patterns.some(({ source }) => source === name);
