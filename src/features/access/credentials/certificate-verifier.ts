import type { X509Certificate } from "node:crypto";
import type { Clock } from "../../../machinery/api/clock.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { verifyChain } from "../../../pki/certificates/certificate-chain.ts";
import { extendedKeyUsages } from "../../../pki/der/object-identifiers.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";

type CertificateResult =
  | { readonly isTrusted: true; readonly leaf: Certificate }
  | { readonly isTrusted: false; readonly reason: string };

export interface CertificateVerifierOptions {
  /** Called for each verification, so that a CA file can be reloaded. */
  readonly roots: () => readonly Certificate[];
  readonly clock: Clock;
}

const isSameList = <T>(one: readonly T[], other: readonly T[]): boolean =>
  one === other || (one.length === other.length && one.every((item, index) => item === other[index]));

interface Known {
  readonly answer: CertificateResult;
  readonly roots: readonly Certificate[];
  readonly from: number;
  readonly until: number;
}

/** The most certificates that a client may send in addition to its own. */
const maximumIntermediates = 8;
const refusalKeptMilliseconds = 10_000;

/**
 * Verifies the certificate of a connection's client: its chain to one of the roots, the validity of every certificate,
 * the usage for client authentication, and that it is not a CA certificate. It does not rely on TLS's own result. The
 * answer is cached per connection as long as every certificate of the chain is valid and the roots are unchanged.
 */
export function createCertificateVerifier({ roots, clock }: CertificateVerifierOptions) {
  const known = new WeakMap<readonly X509Certificate[], Known>();

  return (peerCertificates: readonly X509Certificate[]): CertificateResult => {
    const now = clock.now();
    const currentRoots = roots();
    const kept = known.get(peerCertificates);
    if (kept !== undefined && isSameList(kept.roots, currentRoots) && now >= kept.from && now <= kept.until)
      return kept.answer;
    const fresh = { ...verify(peerCertificates, { roots: currentRoots, now }), roots: currentRoots };
    known.set(peerCertificates, fresh);
    return fresh.answer;
  };
}

function verify(
  peerCertificates: readonly X509Certificate[],
  { roots, now }: { readonly roots: readonly Certificate[]; readonly now: number },
): Omit<Known, "roots"> {
  const refusal = (reason: string): Omit<Known, "roots"> => ({
    answer: { isTrusted: false, reason },
    from: now,
    until: now + refusalKeptMilliseconds,
  });
  const parsed = parseAll(peerCertificates.slice(0, 1 + maximumIntermediates));
  if (typeof parsed === "string") return refusal(parsed);
  const [leaf, ...intermediates] = parsed;
  if (leaf === undefined) return refusal("no certificate");
  if (leaf.isCA) return refusal("a CA certificate cannot authenticate a client");
  const usages = leaf.extendedKeyUsages ?? [];
  if (!usages.includes(extendedKeyUsages.clientAuth) && !usages.includes(extendedKeyUsages.any)) {
    return refusal("x509: certificate specifies an incompatible key usage");
  }
  const chain = verifyChain({ leaf, intermediates, roots, now, requiredUsage: "clientAuth" });
  if (!chain.isValid) return refusal(chain.reason);
  return {
    answer: { isTrusted: true, leaf },
    from: Math.max(...chain.chain.map((certificate) => certificate.notBefore)),
    until: Math.min(...chain.chain.map((certificate) => certificate.notAfter)),
  };
}

function parseAll(certificates: readonly X509Certificate[]): Certificate[] | string {
  const parsed = orPkiError(() => certificates.map(({ raw }) => parseCertificate(raw)));
  return parsed instanceof PkiError ? parsed.message : parsed;
}
