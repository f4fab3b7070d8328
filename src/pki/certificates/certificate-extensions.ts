import { contextTag, DerReader, soleSequence, soleValue, tags } from "../der/der.ts";
import { parseNameConstraints } from "../names/name-constraints.ts";
import type { NameConstraints } from "../names/name-constraints.ts";
import { oids } from "../der/object-identifiers.ts";
import type { Extension } from "./extension.ts";
import { PkiError, withFault } from "../pki-error.ts";
import { hasSubjectAltNames, noSubjectAltNames, parseSubjectAltNames } from "../names/subject-alt-names.ts";
import type { SubjectAltNames } from "../names/subject-alt-names.ts";

/** The key usages of RFC 5280 4.2.1.3, in bit order. */
export const keyUsageNames = [
  "digitalSignature",
  "contentCommitment",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "certSign",
  "crlSign",
  "encipherOnly",
  "decipherOnly",
] as const;
export type KeyUsageName = (typeof keyUsageNames)[number];

/** What the extensions of a certificate contain. */
export interface CertificateExtensions {
  /** False without basic constraints (RFC 5280 4.2.1.9). */
  readonly isCA: boolean;
  /** The most intermediate certificates below this CA. Unlimited when absent. */
  readonly maxPathLength?: number;
  /** Undefined when the extension is absent: then every use is allowed. */
  readonly keyUsages?: readonly KeyUsageName[];
  /** Dotted object identifiers; undefined when the extension is absent: then every use is allowed. */
  readonly extendedKeyUsages?: readonly string[];
  readonly subjectAltNames: SubjectAltNames;
  readonly subjectKeyId?: Buffer;
  readonly authorityKeyId?: Buffer;
  readonly nameConstraints?: NameConstraints;
  /**
   * Object identifiers of critical extensions that Signet does not know. Also contains an extension that requires a policy, critical or
   * not, because policies are not compared here. A certificate with such extensions must not be trusted.
   */
  readonly unhandledCriticalExtensions: readonly string[];
}

type Findings = { -readonly [name in keyof CertificateExtensions]: CertificateExtensions[name] };

/** Reads every known extension. Throws PkiError with Go's message. */
export function readCertificateExtensions(extensions: readonly Extension[]): CertificateExtensions {
  const unhandled: string[] = [];
  const findings: Findings = {
    isCA: false,
    subjectAltNames: noSubjectAltNames,
    unhandledCriticalExtensions: unhandled,
  };
  for (const extension of extensions) {
    const isHandled = readExtension(extension, findings);
    const isRequired = extension.isCritical || extension.id === oids.policyConstraints;
    if (isRequired && !isHandled) unhandled.push(extension.id);
  }
  return findings;
}

/** Adds the content of one extension to `findings`. Returns whether the extension is known. */
function readExtension({ id, isCritical, value }: Extension, findings: Findings): boolean {
  switch (id) {
    case oids.keyUsage:
      findings.keyUsages = withFault("invalid key usage", () => readKeyUsages(value));
      return true;
    case oids.basicConstraints: {
      const constraints = withFault("invalid basic constraints", () => readBasicConstraints(value));
      findings.isCA = constraints.isCA;
      if (constraints.maxPathLength !== undefined) findings.maxPathLength = constraints.maxPathLength;
      return true;
    }
    case oids.subjectAltName:
      findings.subjectAltNames = withFault("invalid subject alternative names", () => parseSubjectAltNames(value));
      return hasSubjectAltNames(findings.subjectAltNames);
    case oids.extendedKeyUsage:
      findings.extendedKeyUsages = withFault("invalid extended key usages", () => readExtendedKeyUsages(value));
      return true;
    case oids.nameConstraints:
      findings.nameConstraints = withFault("invalid NameConstraints extension", () => parseNameConstraints(value));
      return !findings.nameConstraints.hasUnknownKinds;
    case oids.subjectKeyIdentifier:
      if (isCritical) throw new PkiError("x509: subject key identifier incorrectly marked critical");
      findings.subjectKeyId = withFault("invalid subject key identifier", () =>
        soleValue(value, (reader) => reader.read(tags.octetString, "")),
      );
      return true;
    case oids.authorityKeyIdentifier: {
      if (isCritical) throw new PkiError("x509: authority key identifier incorrectly marked critical");
      const keyId = withFault("invalid authority key identifier", () => readAuthorityKeyId(value));
      if (keyId !== undefined) findings.authorityKeyId = keyId;
      return true;
    }
    case oids.authorityInfoAccess:
      if (isCritical) throw new PkiError("x509: authority info access incorrectly marked critical");
      withFault("invalid authority info access", () => checkEach(value, (access) => access.readObjectIdentifier()));
      return true;
    case oids.crlDistributionPoints:
      withFault("invalid CRL distribution point", () => checkEach(value, checkDistributionPoint));
      return true;
    // Without a required policy, the policies of a chain, and extensions that inhibit them, change nothing (RFC 5280 6.1.5).
    case oids.certificatePolicies:
      withFault("invalid certificate policies", () => checkPolicies(value));
      return true;
    case oids.inhibitAnyPolicy:
      withFault("invalid inhibit any policy extension", () => soleValue(value, (reader) => reader.readSmallInteger()));
      return true;
    case oids.policyConstraints:
      return !withFault("invalid policy constraints extension", () => requiresPolicy(value));
    case oids.policyMappings:
      withFault("invalid policy mappings extension", () => checkEach(value, checkPolicyMapping));
      return false;
    default:
      return false;
  }
}

/** Checks a SEQUENCE OF SEQUENCE to the same extent as Go. The part of an entry that `check` does not read must only be well-formed. */
function checkEach(value: Buffer, check: (entry: DerReader) => unknown): void {
  const list = soleSequence(value, "");
  list.each(() => {
    const entry = list.readSequence("");
    check(entry);
    entry.each(() => entry.readElement());
  });
}

function checkDistributionPoint(point: DerReader): void {
  const name = point.readOptional(contextTag(0, "constructed"));
  if (name === undefined) return;
  const names = new DerReader(new DerReader(name).read(contextTag(0, "constructed"), ""));
  names.each(() => names.readElement());
}

function checkPolicies(value: Buffer): void {
  const seen = new Set<string>();
  checkEach(value, (policy) => {
    const id = readPolicy(policy);
    if (seen.has(id)) throw new PkiError("asn1: structure error: duplicate policy");
    seen.add(id);
  });
}

function checkPolicyMapping(mapping: DerReader): void {
  readPolicy(mapping);
  readPolicy(mapping);
}

/** Reads a policy's identifier as octets, because its arcs may need more than 31 bits, such as UUIDs below 2.25. */
function readPolicy(reader: DerReader): string {
  const octets = reader.read(tags.objectIdentifier, "");
  if ((octets.at(-1) ?? 0x80) >= 0x80) throw new PkiError("asn1: syntax error: truncated OBJECT IDENTIFIER");
  return octets.toString("latin1");
}

/** Whether policy constraints contain requireExplicitPolicy. */
function requiresPolicy(value: Buffer): boolean {
  const reader = soleSequence(value, "");
  const [requireExplicitPolicy] = [0, 1].map((number) => {
    const tag = contextTag(number, "primitive");
    return reader.nextTag === tag ? reader.readSmallInteger(tag) : undefined;
  });
  reader.expectEnd();
  return requireExplicitPolicy !== undefined;
}

function readKeyUsages(value: Buffer): KeyUsageName[] {
  const { bytes } = soleValue(value, (reader) => reader.readBitString());
  return keyUsageNames.filter((_, bit) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0);
}

function readBasicConstraints(value: Buffer): { isCA: boolean; maxPathLength?: number } {
  const reader = soleSequence(value, "");
  const isCA = reader.nextTag === tags.boolean ? reader.readBoolean() : false;
  const maxPathLength = reader.isAtEnd ? undefined : reader.readSmallInteger();
  reader.expectEnd();
  if (maxPathLength === undefined) return { isCA };
  if (maxPathLength < 0) throw new PkiError("x509: invalid basic constraints");
  return { isCA, maxPathLength };
}

function readExtendedKeyUsages(value: Buffer): string[] {
  const reader = soleSequence(value, "");
  const usages: string[] = [];
  reader.each(() => usages.push(reader.readObjectIdentifier()));
  return usages;
}

function readAuthorityKeyId(value: Buffer): Buffer | undefined {
  return soleSequence(value, "").readOptional(contextTag(0, "primitive"));
}
