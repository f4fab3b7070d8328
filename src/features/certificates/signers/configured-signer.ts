import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { keyTypeOf } from "../../../pki/keys/keys.ts";
import type { KeyType } from "../../../pki/keys/keys.ts";
import type { PublicKeyInfo } from "../../../pki/keys/public-key.ts";
import { hasSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import type { NamePattern } from "../policy/name-pattern.ts";
import { namePatternFaults } from "./alternative-name-requirements.ts";
import type { NamePatterns } from "./alternative-name-requirements.ts";
import type { SignerRules } from "./signer.ts";
import { isAllowed, isReserved, unusualSubjectFaults } from "./subject-requirements.ts";
import { certificateUsagesOf } from "./usages.ts";

/** One signer of `--signer-config`, with defaults filled in. */
export interface SignerSpecification extends NamePatterns {
  /** `domain/path`. The domain must not be one of the server's own. */
  readonly name: string;
  readonly certificateAuthority: AuthoritySource;
  /** Omitted: the common name must be empty or one of the DNS names. */
  readonly commonNames: readonly NamePattern[] | undefined;
  /** Omitted: none are allowed. */
  readonly organizations: readonly NamePattern[] | undefined;
  readonly usages: readonly string[];
  /** RSA: keys of at least this size. */
  readonly keyTypes: readonly KeyType[];
  readonly lifetime: SignerLifetime;
  /** The URL in certificates instead of `--revocation-url`. Empty: certificates name no revocation URLs. */
  readonly revocationUrl: string | undefined;
}

export type AuthoritySource =
  | { readonly type: "files"; readonly certificateFile: string; readonly keyFile: string }
  /** Generated on first use and stored in the data directory. */
  | { readonly type: "generated"; readonly commonName: string; readonly lifetimeMilliseconds: number };

/** The lifetime of a signer's certificates, in seconds. */
export interface SignerLifetime {
  readonly maximumSeconds: number;
  /** The lifetime of certificates whose requests name none. */
  readonly defaultSeconds: number;
}

/** The rules of a signer in the file. Each fault names the field of the rule. */
export const configuredSignerRules = (specification: SignerSpecification): SignerRules => ({
  faults: (request, usages) =>
    [
      ...subjectFaults(specification, request),
      ...namePatternFaults(request.subjectAltNames, { allowed: specification }),
      ...usageFaults(specification, usages),
      ...keyFaults(specification, request.publicKey),
    ].map(({ field, message }) => `${field}: ${message}`),
});

interface Fault {
  readonly field: string;
  readonly message: string;
}

function subjectFaults(
  { commonNames, organizations }: SignerSpecification,
  { subject, subjectAltNames }: CertificateRequest,
): Fault[] {
  const { commonName } = subject;
  const isNamed =
    commonNames === undefined
      ? commonName === "" || subjectAltNames.dnsNames.includes(commonName)
      : isAllowed(commonNames, commonName);
  return [
    ...(isNamed && !isReserved(commonName) ? [] : [notAllowed("subject.commonNames", commonName)]),
    ...subject.organizations
      .filter((organization) => !isAllowed(organizations ?? [], organization) || isReserved(organization))
      .map((organization) => notAllowed("subject.organizations", organization)),
    ...unusualSubjectFaults(subject),
    // With an empty subject, the alternative names must identify the holder (RFC 5280 4.1.2.6).
    ...(hasSubjectAltNames(subjectAltNames) || subject.relativeNames.flat().some(({ value }) => value !== "")
      ? []
      : [{ field: "subject", message: "is empty, and there is no other name: the certificate would be nobody's" }]),
  ];
}

function usageFaults(specification: SignerSpecification, usages: readonly string[]): Fault[] {
  const field = "usages";
  const faults = usages.filter((usage) => !specification.usages.includes(usage));
  // A certificate without an extended key usage is valid for every purpose (RFC 5280 4.2.1.12).
  const isLimited = certificateUsagesOf(usages).extendedKeyUsages.length > 0;
  return [
    ...faults.map((usage) => notAllowed(field, usage)),
    ...(isLimited ? [] : [{ field, message: "must contain an extended key usage, such as server auth" }]),
  ];
}

function keyFaults({ keyTypes }: SignerSpecification, key: PublicKeyInfo): Fault[] {
  const isOfType = (type: KeyType): boolean => {
    const [family = "", detail = ""] = type.split(" ");
    if (family !== key.algorithm) return false;
    return family === "RSA" ? key.sizeBits >= Number(detail) : detail === "" || key.curve === detail;
  };
  return keyTypes.some(isOfType) ? [] : [notAllowed("keyTypes", keyTypeOf(key))];
}

const notAllowed = (field: string, text: string): Fault => ({
  field,
  message: `${JSON.stringify(text)} is not allowed`,
});
