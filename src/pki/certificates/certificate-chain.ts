import { maySignCertificates } from "./certificate.ts";
import type { Certificate } from "./certificate.ts";
import { certificateSignature, checkSignature } from "../keys/check-signature.ts";
import { nameConstraintFault } from "../names/name-constraints.ts";
import { extendedKeyUsages } from "../der/object-identifiers.ts";
import type { ExtendedKeyUsageName } from "../der/object-identifiers.ts";
import { orPkiError } from "../pki-error.ts";

export interface ChainInput {
  readonly leaf: Certificate;
  /** Other certificates that the peer sent, in any order. They are not trusted. */
  readonly intermediates: readonly Certificate[];
  readonly roots: readonly Certificate[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly requiredUsage: ExtendedKeyUsageName;
}

/** `chain` is in the order from the leaf to the root. `reason` is worded like Go's `x509` errors. */
export type ChainResult =
  | { readonly isValid: true; readonly chain: readonly Certificate[] }
  | { readonly isValid: false; readonly reason: string };

/** The most steps of one verification: an attacker could send many certificates with the same names and keys. */
const maximumSteps = 100;
const maximumChainLength = 10;

/**
 * Verifies that a chain leads from the leaf to a root (RFC 5280 6.1, like Go's `Certificate.Verify` without host names). Returns the first
 * valid chain. Checks of each certificate: its validity period, its key (the leaf's too, which proves who the peer is), the CA flag, the
 * path length, certSign, name constraints, extended key usages (each CA may only narrow them), and that it has no unknown critical
 * extension.
 *
 * Signatures are checked last, from the root down. So the key that checks a signature is always a root's, or a CA's that a root has
 * certified. A stranger's certificate is never checked with the key of another certificate of the stranger, which could be of the slowest
 * kind.
 */
export function verifyChain(input: ChainInput): ChainResult {
  const { leaf, intermediates, roots } = input;
  const fault = certificateFault(leaf, input.now);
  if (fault !== undefined) return { isValid: false, reason: fault };
  const search: Search = {
    input,
    candidates: [...roots, ...intermediates],
    steps: 0,
    checked: new Map(),
    reason: undefined,
  };
  const chain = isAmong(roots, leaf) ? ifAcceptable([leaf], search) : extend([leaf], search);
  if (chain !== undefined) return { isValid: true, chain };
  return { isValid: false, reason: search.reason ?? "x509: certificate signed by unknown authority" };
}

interface Search {
  readonly input: ChainInput;
  /** The possible issuers. Roots come first, because a short chain is cheap to check. */
  readonly candidates: readonly Certificate[];
  steps: number;
  /** The signature faults that were found, by child and issuer. Undefined as a value: no fault. */
  readonly checked: Map<Certificate, Map<Certificate, string | undefined>>;
  /** Why the last candidate was rejected. */
  reason: string | undefined;
}

const isAmong = (certificates: readonly Certificate[], one: Certificate): boolean =>
  certificates.some(({ der }) => der.equals(one.der));

/** Searches depth first for an issuer of the last certificate in the chain. */
function extend(chain: readonly Certificate[], search: Search): readonly Certificate[] | undefined {
  const child = chain.at(-1);
  if (child === undefined || chain.length >= maximumChainLength) return undefined;
  for (const issuer of search.candidates) {
    if (!issuer.rawSubject.equals(child.rawIssuer) || !keyIdsMatch(child, issuer) || hasSameKeyAndName(chain, issuer))
      continue;
    if (++search.steps > maximumSteps) {
      search.reason = "x509: signature check attempts limit reached while verifying certificate chain";
      return undefined;
    }
    const fault = certificateFault(issuer, search.input.now) ?? authorityFault(issuer) ?? pathFault(chain, issuer);
    if (fault !== undefined) {
      search.reason = fault;
      continue;
    }
    const longer = [...chain, issuer];
    const found = isAmong(search.input.roots, issuer) ? ifSigned(longer, search) : extend(longer, search);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Checks the signatures of a chain that leads to a root by its names, and then the rest. */
function ifSigned(chain: readonly Certificate[], search: Search): readonly Certificate[] | undefined {
  for (let at = chain.length - 1; at > 0; at--) {
    const [child, issuer] = chain.slice(at - 1, at + 1);
    const fault = child && issuer && checkedSignature({ child, issuer }, search);
    if (fault === undefined) continue;
    search.reason = fault;
    return undefined;
  }
  return ifAcceptable(chain, search);
}

/** The fault of a signature. Each pair of child and issuer is checked only once, because several chains may contain it. */
function checkedSignature(
  { child, issuer }: { readonly child: Certificate; readonly issuer: Certificate },
  { checked }: Search,
): string | undefined {
  const ofChild = checked.get(child) ?? new Map<Certificate, string | undefined>();
  checked.set(child, ofChild);
  if (!ofChild.has(issuer)) ofChild.set(issuer, signatureFault(child, issuer));
  return ofChild.get(issuer);
}

/**
 * Whether the key identifiers allow an issuer. An issuer whose key identifier differs from the child's authority key identifier is excluded
 * (RFC 5280 4.2.1.1).
 */
export const keyIdsMatch = (child: Certificate, issuer: Certificate): boolean =>
  child.authorityKeyId === undefined ||
  issuer.subjectKeyId === undefined ||
  child.authorityKeyId.equals(issuer.subjectKeyId);

/** Whether a chain already contains this key and name: it would be a loop. */
const hasSameKeyAndName = (chain: readonly Certificate[], one: Certificate): boolean =>
  chain.some(
    ({ rawSubject, publicKey }) => rawSubject.equals(one.rawSubject) && publicKey.spki.equals(one.publicKey.spki),
  );

function certificateFault(certificate: Certificate, now: number): string | undefined {
  if (certificate.unhandledCriticalExtensions.length > 0) return "x509: unhandled critical extension";
  if (now < certificate.notBefore || now > certificate.notAfter) {
    return "x509: certificate has expired or is not yet valid";
  }
  return certificate.publicKey.weakness;
}

/**
 * Why a CA cannot have issued a certificate, in the words of Go's `x509`. Undefined: the CA's key signed it, and the CA may sign
 * certificates.
 */
export const issuerFault = (child: Certificate, issuer: Certificate): string | undefined =>
  authorityFault(issuer) ?? signatureFault(child, issuer);

const authorityFault = (issuer: Certificate): string | undefined =>
  maySignCertificates(issuer)
    ? undefined
    : "x509: invalid signature: parent certificate cannot sign this kind of certificate";

function signatureFault(child: Certificate, issuer: Certificate): string | undefined {
  const refused = orPkiError(() => checkSignature(certificateSignature(child, issuer)));
  return refused?.message;
}

/** Checks the issuer's limit on the number of intermediates below it. */
function pathFault(chain: readonly Certificate[], issuer: Certificate): string | undefined {
  if (issuer.maxPathLength !== undefined && chain.length - 1 > issuer.maxPathLength) {
    return "x509: too many intermediates for path length constraint";
  }
  return undefined;
}

/** Checks the name constraints of all CAs in the chain. */
function nameFault(chain: readonly Certificate[]): string | undefined {
  for (const [index, { nameConstraints }] of chain.entries()) {
    if (nameConstraints === undefined) continue;
    for (const certificate of chain.slice(0, index)) {
      const fault = nameConstraintFault(nameConstraints, certificate);
      if (fault !== undefined) return `x509: a name is not permitted: ${fault}`;
    }
  }
  return undefined;
}

/**
 * Returns the chain if its extended key usages and names are allowed. A CA that lists extended key usages passes on only those. Names are
 * compared last, when the chain is known to reach a root, so strangers cannot make the server do many comparisons.
 */
function ifAcceptable(chain: readonly Certificate[], search: Search): readonly Certificate[] | undefined {
  const required = extendedKeyUsages[search.input.requiredUsage];
  const allows = ({ extendedKeyUsages: usages }: Certificate): boolean =>
    required === extendedKeyUsages.any ||
    usages === undefined ||
    usages.includes(required) ||
    usages.includes(extendedKeyUsages.any);
  search.reason = chain.every(allows) ? nameFault(chain) : "x509: certificate specifies an incompatible key usage";
  return search.reason === undefined ? chain : undefined;
}
