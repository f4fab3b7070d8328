import { contextTag, DerReader } from "./der.ts";
import { isInIpRange, parseIpAddress, type IpRange } from "./ip-address.ts";
import { PkiError } from "./pki-error.ts";
import type { SubjectAltNames } from "./subject-alt-names.ts";

/** Names below which a CA may (or may not) certify (RFC 5280 4.2.1.10). */
interface Subtrees {
  readonly dnsDomains: readonly string[];
  readonly ipRanges: readonly IpRange[];
  /** A mailbox, a host, or with a leading dot a domain. */
  readonly emails: readonly string[];
  readonly uriDomains: readonly string[];
}

export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
  /** Constrains kinds of names that nothing here understands. */
  readonly hasUnknownKinds: boolean;
}

const empty = new PkiError("x509: empty name constraints extension");
const invalid = (): PkiError => new PkiError("x509: invalid NameConstraints extension");

/** Reads the value of the extension. Throws PkiError. */
export function parseNameConstraints(value: Buffer): NameConstraints {
  const outer = new DerReader(value);
  const reader = outer.readSequence("NameConstraints");
  outer.expectEnd();
  const permitted = parseSubtrees(reader.readOptional(contextTag(0, "constructed")));
  const excluded = parseSubtrees(reader.readOptional(contextTag(1, "constructed")));
  reader.expectEnd();
  if (permitted.count + excluded.count === 0) throw empty;
  return {
    permitted: permitted.subtrees,
    excluded: excluded.subtrees,
    hasUnknownKinds: permitted.hasUnknownKinds || excluded.hasUnknownKinds,
  };
}

function parseSubtrees(content: Buffer | undefined): { subtrees: Subtrees; count: number; hasUnknownKinds: boolean } {
  const dnsDomains: string[] = [];
  const ipRanges: IpRange[] = [];
  const emails: string[] = [];
  const uriDomains: string[] = [];
  let count = 0;
  let hasUnknownKinds = false;
  const reader = new DerReader(content ?? Buffer.alloc(0));
  while (!reader.isAtEnd) {
    const subtree = reader.readSequence("GeneralSubtree");
    const { tag, content: base } = subtree.readElement();
    // A minimum other than 0 or a maximum is nothing that RFC 5280 allows.
    subtree.expectEnd();
    count++;
    if (tag === contextTag(1, "primitive")) emails.push(domain(base, "@"));
    else if (tag === contextTag(2, "primitive")) dnsDomains.push(domain(base));
    else if (tag === contextTag(6, "primitive")) uriDomains.push(domain(base));
    else if (tag === contextTag(7, "primitive")) ipRanges.push(ipRange(base));
    else hasUnknownKinds = true;
  }
  return { subtrees: { dnsDomains, ipRanges, emails, uriDomains }, count, hasUnknownKinds };
}

function domain(base: Buffer, alsoAllowed = ""): string {
  const text = base.toString("latin1");
  const isDomain = /^\.?(?:[!-~]+)?$/.test(text) && !/\.\.|[^.]\.$/.test(text);
  if (!isDomain || (alsoAllowed === "" && text.includes("@"))) throw invalid();
  return text.toLowerCase();
}

function ipRange(base: Buffer): IpRange {
  const half = base.length / 2;
  if (half !== 4 && half !== 16) throw new PkiError(`x509: IP constraint contained value of length ${base.length}`);
  const mask = base.subarray(half);
  const bits = [...mask].map((octet) => octet.toString(2).padStart(8, "0")).join("");
  if (bits.includes("01")) throw new PkiError(`x509: IP constraint contained invalid mask ${mask.toString("hex")}`);
  return { address: base.subarray(0, half), mask };
}

/** Why names below a constrained CA are not allowed, or undefined when they are. */
export function nameConstraintViolation(constraints: NameConstraints, names: SubjectAltNames): string | undefined {
  const kinds = [
    [names.dnsNames, "dnsDomains", isInDomain],
    [names.uris, "uriDomains", isUriInDomain],
    [names.emailAddresses, "emails", isEmailWithin],
  ] as const;
  for (const [values, kind, matches] of kinds) {
    for (const value of values) {
      const { permitted, excluded } = { permitted: constraints.permitted[kind], excluded: constraints.excluded[kind] };
      if (excluded.some((base) => matches(value, base)))
        return `${JSON.stringify(value)} is excluded by a name constraint`;
      if (permitted.length > 0 && !permitted.some((base) => matches(value, base))) {
        return `${JSON.stringify(value)} is not permitted by any name constraint`;
      }
    }
  }
  for (const text of names.ipAddresses) {
    const address = parseIpAddress(text);
    const isWithin = (range: IpRange): boolean => address === undefined || isInIpRange(address, range);
    if (constraints.excluded.ipRanges.some(isWithin)) return `${text} is excluded by a name constraint`;
    const { ipRanges } = constraints.permitted;
    if (ipRanges.length > 0 && (address === undefined || !ipRanges.some((range) => isInIpRange(address, range)))) {
      return `${text} is not permitted by any name constraint`;
    }
  }
  return undefined;
}

/** A domain covers itself and everything below it; with a leading dot only what is below. */
function isInDomain(name: string, base: string): boolean {
  const host = name.toLowerCase();
  if (base === "") return true;
  return base.startsWith(".") ? host.endsWith(base) : host === base || host.endsWith(`.${base}`);
}

/** For URIs and mailboxes a base without a leading dot is one host. */
const isHostWithin = (host: string, base: string): boolean =>
  base === "" || (base.startsWith(".") ? host.endsWith(base) : host === base);

function isUriInDomain(uri: string, base: string): boolean {
  const host = /^[^:]*:\/\/(?:[^/?#]*@)?([^/?#:]*)/.exec(uri)?.[1]?.toLowerCase() ?? "";
  return isHostWithin(host, base);
}

function isEmailWithin(address: string, base: string): boolean {
  const lowered = address.toLowerCase();
  return base.includes("@") ? lowered === base : isHostWithin(lowered.slice(lowered.lastIndexOf("@") + 1), base);
}
