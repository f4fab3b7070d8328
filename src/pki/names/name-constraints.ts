import { contextTag, DerReader, soleSequence } from "../der/der.ts";
import type { DerElement } from "../der/der.ts";
import type { DistinguishedName } from "./distinguished-name.ts";
import { formatIpAddress, isInIpRange, isIpv4Mapped } from "./ip-address.ts";
import type { IpRange } from "./ip-address.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";
import { generalNameTags, readGeneralNames } from "./subject-alt-names.ts";
import { readUri } from "./uri.ts";
import { hostNameOf } from "./dns-name.ts";
import { mailboxOf } from "./mailbox.ts";
import type { Mailbox } from "./mailbox.ts";
import { extensionValue } from "../certificates/extension.ts";
import type { Extension } from "../certificates/extension.ts";

/**
 * The base of a constraint, which covers names at or below it. `base` is in lower case. `other` is a kind of name that Signet does not
 * know.
 */
type Subtree =
  | { readonly kind: "dns" | "uri"; readonly base: string }
  | { readonly kind: "email"; readonly base: string | Mailbox }
  | { readonly kind: "ip"; readonly base: IpRange }
  | { readonly kind: "other"; readonly base: { readonly tag: number } };

/** The name constraints of a CA (RFC 5280 4.2.1.10). */
export interface NameConstraints {
  readonly permitted: readonly Subtree[];
  readonly excluded: readonly Subtree[];
  /** Whether a constraint is for a kind of name that Signet does not know. */
  readonly hasUnknownKinds: boolean;
}

/** The parts of a certificate that are compared with name constraints. */
interface ConstrainedCertificate {
  readonly subject: DistinguishedName;
  readonly extensions: readonly Extension[];
}

/** Parses the value of the extension. Throws PkiError, also for a malformed base. */
export function parseNameConstraints(value: Buffer): NameConstraints {
  const reader = soleSequence(value, "NameConstraints");
  const permitted = parseSubtrees(reader.readOptional(contextTag(0, "constructed")));
  const excluded = parseSubtrees(reader.readOptional(contextTag(1, "constructed")));
  reader.expectEnd();
  if (permitted.length + excluded.length === 0) throw new PkiError("x509: empty name constraints extension");
  const hasUnknownKinds = [...permitted, ...excluded].some(({ kind }) => kind === "other");
  return { permitted, excluded, hasUnknownKinds };
}

function parseSubtrees(content: Buffer = Buffer.alloc(0)): Subtree[] {
  const subtrees: Subtree[] = [];
  const reader = new DerReader(content);
  reader.each(() => {
    const subtree = reader.readSequence("GeneralSubtree");
    const element = subtree.readElement();
    // RFC 5280 4.2.1.10 allows neither a minimum other than 0 nor a maximum.
    subtree.expectEnd();
    subtrees.push(parseSubtree(element));
  });
  return subtrees;
}

function parseSubtree({ tag, content }: DerElement): Subtree {
  const text = content.toString("latin1");
  switch (tag) {
    case generalNameTags.email:
      return { kind: "email", base: text.includes("@") ? mailboxBase(text) : domainBase(text, "rfc822Name") };
    case generalNameTags.dns:
      return { kind: "dns", base: domainBase(text, "dnsName") };
    case generalNameTags.uri:
      return { kind: "uri", base: domainBase(text, "URI") };
    case generalNameTags.ip:
      return { kind: "ip", base: ipRange(content) };
    default:
      return { kind: "other", base: { tag } };
  }
}

const unparsable = (kind: string, text: string): PkiError =>
  new PkiError(`x509: failed to parse ${kind} constraint ${JSON.stringify(text)}`);

/** The base of a domain. `text` is empty (covers every name), a host, or a host after a leading dot. */
function domainBase(text: string, kind: string): string {
  if (text === "") return "";
  const dot = text.startsWith(".") ? "." : "";
  const host = hostNameOf(text.slice(dot.length), { allowsWildcard: false });
  if (host === undefined) throw unparsable(kind, text);
  return dot + host;
}

function mailboxBase(text: string): Mailbox {
  const mailbox = mailboxOf(text);
  if (mailbox === undefined) throw unparsable("rfc822Name", text);
  return mailbox;
}

function ipRange(content: Buffer): IpRange {
  const half = content.length / 2;
  if (half !== 4 && half !== 16) throw new PkiError(`x509: IP constraint contained value of length ${content.length}`);
  const mask = content.subarray(half);
  const bits = [...mask].map((octet) => octet.toString(2).padStart(8, "0")).join("");
  if (bits.includes("01")) throw new PkiError(`x509: IP constraint contained invalid mask ${mask.toString("hex")}`);
  return { address: content.subarray(0, half), mask };
}

/** A name, parsed as far as constraints need it. Errors show `text`. */
type Name = { readonly text: string } & (
  | { readonly kind: "dns" | "uri"; readonly value: string }
  | { readonly kind: "email"; readonly value: Mailbox }
  | { readonly kind: "ip"; readonly value: Buffer }
  | { readonly kind: "other"; readonly value: number }
  | { readonly kind: "undecidable" }
);

/** The most comparisons of names with constraints for one certificate. Go had this limit; OpenSSL has a similar one. */
const maximumComparisons = 250_000;

/**
 * Why an issuer's constraints forbid a name of a certificate below it, or undefined when they allow all names (RFC 5280 4.2.1.10; like Go's
 * `checkChainConstraints`, but stricter). Anything that cannot be decided is refused: an unreadable name, a URI without a host name, and a
 * constrained kind of name that Signet does not know. A wildcard is excluded when any name that it matches is excluded. If a host is
 * excluded for URIs or mailboxes, the hosts below it are excluded too, as in Go. An IPv4-mapped IPv6 address must be permitted in both
 * forms, and excluded in neither.
 */
export function nameConstraintFault(
  { permitted, excluded }: NameConstraints,
  certificate: ConstrainedCertificate,
): string | undefined {
  const names = namesOf(certificate, [...permitted, ...excluded]);
  if (names.length * (permitted.length + excluded.length) > maximumComparisons) return "there are too many to compare";
  for (const name of names) {
    if (name.kind === "undecidable") return `${name.text} cannot be matched against name constraints`;
    if (excluded.some((subtree) => isExcludedBy(name, subtree))) return `${name.text} is excluded by a name constraint`;
    const bases = permitted.filter(({ kind }) => kind === name.kind);
    if (bases.length > 0 && name.kind !== "other" && !isPermittedBy(name, bases)) {
      return `${name.text} is not permitted by any name constraint`;
    }
  }
  return undefined;
}

const directoryName = contextTag(4, "constructed");

function namesOf({ subject, extensions }: ConstrainedCertificate, subtrees: readonly Subtree[]): Name[] {
  const value = extensionValue(extensions, oids.subjectAltName);
  const names = value === undefined ? [] : readGeneralNames(value).map((element) => nameOf(element, subtrees));
  // Older certificates have their mailbox in the subject (RFC 5280 4.2.1.10).
  if (subtrees.some(({ kind }) => kind === "email")) {
    const addresses = subject.relativeNames.flat().filter(({ type }) => type === oids.emailAddress);
    names.push(...addresses.map(({ value: address }) => emailName(address)));
  }
  if (subject.relativeNames.length > 0) names.push(nameOf({ tag: directoryName, content: Buffer.alloc(0) }, subtrees));
  return names;
}

function nameOf({ tag, content }: Pick<DerElement, "tag" | "content">, subtrees: readonly Subtree[]): Name {
  const text = content.toString("latin1");
  const quoted = JSON.stringify(text);
  switch (tag) {
    case generalNameTags.email:
      return emailName(text);
    case generalNameTags.dns: {
      const value = hostNameOf(text, { allowsWildcard: true });
      return value === undefined ? { kind: "undecidable", text: quoted } : { kind: "dns", value, text: quoted };
    }
    case generalNameTags.uri: {
      const uri = readUri(text);
      const value = uri.isValid ? hostNameOf(uri.host, { allowsWildcard: false }) : undefined;
      return value === undefined ? { kind: "undecidable", text: quoted } : { kind: "uri", value, text: quoted };
    }
    case generalNameTags.ip:
      return { kind: "ip", value: content, text: formatIpAddress(content) };
    default: {
      const what = `a name of another kind (tag ${tag & 0x1f})`;
      const isConstrained = subtrees.some(({ kind, base }) => kind === "other" && base.tag === tag);
      return isConstrained ? { kind: "undecidable", text: what } : { kind: "other", value: tag, text: what };
    }
  }
}

function emailName(text: string): Name {
  const value = mailboxOf(text);
  const quoted = JSON.stringify(text);
  return value === undefined ? { kind: "undecidable", text: quoted } : { kind: "email", value, text: quoted };
}

function isWithin(name: Name, { kind, base }: Subtree): boolean {
  if (name.kind === "dns" && kind === "dns") return isInDomain(name.value, base);
  if (name.kind === "uri" && kind === "uri") return isHostWithin(name.value, base);
  if (name.kind === "ip" && kind === "ip") return isInIpRange(name.value, base);
  if (name.kind !== "email" || kind !== "email") return false;
  const { host, localPart } = name.value;
  return typeof base === "string" ? isHostWithin(host, base) : host === base.host && localPart === base.localPart;
}

const isPermittedBy = (name: Name, bases: readonly Subtree[]): boolean =>
  bases.some((subtree) => isWithin(name, subtree)) &&
  (name.kind !== "ip" || !isIpv4Mapped(name.value) || bases.some((subtree) => isWithinAsIpv4(name, subtree)));

const isWithinAsIpv4 = (name: Name, subtree: Subtree): boolean =>
  name.kind === "ip" && subtree.kind === "ip" && isInIpRange(name.value.subarray(12), subtree.base);

function isExcludedBy(name: Name, subtree: Subtree): boolean {
  if (isWithin(name, subtree)) return true;
  if (name.kind === "uri" && subtree.kind === "uri") return isInDomain(name.value, subtree.base);
  if (name.kind === "email" && subtree.kind === "email") {
    return typeof subtree.base === "string" && isInDomain(name.value.host, subtree.base);
  }
  if (name.kind === "dns" && subtree.kind === "dns" && name.value.startsWith("*.")) {
    // The base may be one of the names that the wildcard matches.
    const { base } = subtree;
    return base.slice(base.indexOf(".")) === name.value.slice(1);
  }
  return name.kind === "ip" && isIpv4Mapped(name.value) && isWithinAsIpv4(name, subtree);
}

/** Whether a base covers a host. A domain covers itself and everything below it. With a leading dot, it covers only what is below. */
function isInDomain(host: string, base: string): boolean {
  if (base === "") return true;
  return base.startsWith(".") ? host.endsWith(base) : host === base || host.endsWith(`.${base}`);
}

/** Whether a base covers the host of a URI or a mailbox. A base without a leading dot is exactly one host. */
const isHostWithin = (host: string, base: string): boolean =>
  base === "" || (base.startsWith(".") ? host.endsWith(base) : host === base);
