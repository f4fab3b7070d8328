import type { CertificateSigningRequest } from "../../features/certificates/resources.ts";
import { fingerprintOf } from "../../pki/certificates/certificate.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { isCertificateFor, tlsFault, tlsUsagesOf } from "./wanted-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

// All decisions about a certificate, as pure functions. `CertificateManager` acts on them. Times are milliseconds since the epoch, by the
// server's clock. `random` is from 0 to 1.

/**
 * When a certificate is renewed: at a random point at 70 to 90 % of its lifetime (upstream: `certificate.Manager.nextRotationDeadline`).
 * With `share`: after this share of the lifetime, or up to 5 % of the lifetime later. So machines that started together do not renew
 * together.
 */
export function renewalTime(
  { notBefore, notAfter }: { readonly notBefore: number; readonly notAfter: number },
  { random, share }: { readonly random: number; readonly share: number | undefined },
): number {
  const point = share === undefined ? 0.7 + 0.2 * random : share + Math.min(0.05, (1 - share) / 2) * random;
  return Math.round(notBefore + (notAfter - notBefore) * point);
}

/** Signers let certificates begin five minutes before the issuance, and the server's clock is known to half a minute. */
const recallDelayMilliseconds = 6 * 60_000;
/** The time over which machines spread the requests that follow a recall. */
const recallWindowMilliseconds = 30 * 60_000;

/**
 * When a certificate is renewed because its signer has recalled the certificates that it issued before a time; Infinity: never. The point
 * in the window is computed from the certificate, so that a restart does not move it. The new certificate then begins after that time.
 */
export function recallTime(certificate: Certificate | undefined, issuedBefore: number): number {
  if (certificate === undefined || certificate.notBefore >= issuedBefore) return Infinity;
  const share = Number.parseInt(fingerprintOf(certificate).slice(0, 8), 16) / 2 ** 32;
  return Math.round(issuedBefore + recallDelayMilliseconds + share * recallWindowMilliseconds);
}

/** The state of a certificate: the first of these that applies. */
export type CertificateState =
  | "missing"
  /** The server says that it is revoked. */
  | "revoked"
  /** The server has answered 401 to it. */
  | "refused"
  | "expired"
  /** It is not valid yet: its signer's clock was ahead, and may have been corrected since. */
  | "early"
  /** It lacks names, or its specification has changed since it was requested: names, usages, type of key, lifetime or signer. */
  | "outdated"
  /** Its signer asks for an early renewal, and the time for that has come. */
  | "recalled"
  /** It is time to renew it. */
  | "due"
  | "current";

interface CertificateQuestion {
  readonly certificate: Certificate | undefined;
  readonly wanted: WantedCertificate;
  /** Whether the specification has changed since the certificate was requested. */
  readonly isSpecificationChanged: boolean;
  readonly isRevoked: boolean;
  readonly isRefused: boolean;
  readonly renewAt: number;
  /** Infinity: it is not recalled. */
  readonly recallAt: number;
  readonly now: number;
}

export function certificateState(question: CertificateQuestion): CertificateState {
  const { certificate, wanted, isSpecificationChanged, isRevoked, isRefused, renewAt, recallAt, now } = question;
  if (certificate === undefined) return "missing";
  if (isRevoked) return "revoked";
  if (isRefused) return "refused";
  if (now > certificate.notAfter) return "expired";
  if (now < certificate.notBefore - toleratedSkewMilliseconds) return "early";
  if (isSpecificationChanged || !isCertificateFor(certificate, wanted)) return "outdated";
  if (now >= recallAt) return "recalled";
  return now >= renewAt ? "due" : "current";
}

/** Clocks may differ by this much without a fault: many signers let certificates begin five minutes before the issuance. */
const toleratedSkewMilliseconds = 5 * 60_000;

/** A certificate that was issued to replace a good certificate. */
interface Replacement {
  readonly current: Certificate;
  readonly issued: Certificate;
  readonly wanted: WantedCertificate;
  readonly now: number;
}

/**
 * Why it may not replace the current certificate. worse: programs would fail with it. early: it is not valid yet, and the current
 * certificate is, or will be sooner.
 */
interface ReplacementFault {
  readonly type: "worse" | "early";
  readonly text: string;
}

export function replacementFault({ current, issued, wanted, now }: Replacement): ReplacementFault | undefined {
  const asWanted = { isSpecificationChanged: false, isRevoked: false, isRefused: false };
  const never = { renewAt: Infinity, recallAt: Infinity };
  const state = certificateState({ certificate: issued, wanted, now, ...asWanted, ...never });
  const isUsable = state === "current" || state === "early";
  const usages = tlsUsagesOf(issued, wanted);
  const lost = tlsUsagesOf(current, wanted).find((usage) => !usages.includes(usage));
  if (!isUsable || lost !== undefined) {
    const why = tlsFault(issued);
    const fault = isUsable ? `not for ${lost}${why === undefined ? "" : ` (${why})`}` : issuedFault(state);
    return { type: "worse", text: `the signer issued a certificate that is ${fault}: the one in use stays` };
  }
  if (now >= issued.notBefore || issued.notBefore < current.notBefore) return undefined;
  const validFrom = new Date(issued.notBefore).toISOString();
  return { type: "early", text: `the issued certificate is valid from ${validFrom}: until then, the one in use stays` };
}

/** What is wrong with a certificate that its signer has just issued, and that is not current. */
export function issuedFault(state: CertificateState): string {
  if (state === "early") return "not valid yet";
  return state === "outdated" ? "not as requested (its subject, its names or its type of key)" : `already ${state}`;
}

/** Everything that decides the next step for a certificate. */
interface RenewalState {
  readonly certificate: CertificateState;
  /** The time until the certificate is due; negative after that. */
  readonly dueInMilliseconds: number;
  /** Whether somebody has asked for a new certificate now. */
  readonly isRenewalRequested: boolean;
  /** Whether there is a key whose certificate has been requested. */
  readonly hasPendingRequest: boolean;
  /** The time until the next try may begin after a failure; 0 when nothing failed. */
  readonly retryInMilliseconds: number;
}

/** Why a certificate is requested. unfinished: the certificate is current, but there is a key whose certificate was requested earlier. */
export type RequestCause = Exclude<CertificateState, "current"> | "requested" | "unfinished";

export type RenewalStep =
  | { readonly do: "request"; readonly cause: RequestCause }
  | { readonly do: "wait"; readonly milliseconds: number };

/** Whether to request a certificate, or to wait. */
export function nextStep(state: RenewalState): RenewalStep {
  const cause = requestCause(state);
  if (cause === undefined) return { do: "wait", milliseconds: state.dueInMilliseconds };
  const { retryInMilliseconds } = state;
  return retryInMilliseconds > 0 ? { do: "wait", milliseconds: retryInMilliseconds } : { do: "request", cause };
}

function requestCause({ certificate, isRenewalRequested, hasPendingRequest }: RenewalState): RequestCause | undefined {
  if (certificate === "revoked" || certificate === "refused") return certificate;
  if (isRenewalRequested) return "requested";
  if (certificate !== "current") return certificate;
  return hasPendingRequest ? "unfinished" : undefined;
}

/** The identity with which an agent requests its client certificate: that certificate itself, or the bootstrap credential. */
type AgentIdentity = "node" | "bootstrap";

interface IdentityQuestion {
  /** The client certificate, if there is one. */
  readonly certificate: Certificate | undefined;
  /** The server has answered 401 to it. */
  readonly isRefused: boolean;
  readonly hasBootstrap: boolean;
  readonly now: number;
}

/**
 * A node that has a certificate uses it, so a bootstrap credential is needed only once. When the certificate has expired or
 * is refused, the bootstrap credential is used again, if there is one. Undefined: there is no credential.
 */
export function requestIdentity(question: IdentityQuestion): AgentIdentity | undefined {
  const { certificate, isRefused, hasBootstrap, now } = question;
  const isUsable = certificate !== undefined && !isRefused && now <= certificate.notAfter;
  if (isUsable) return "node";
  if (hasBootstrap) return "bootstrap";
  // The clock may be wrong: let the server judge the certificate.
  return certificate === undefined ? undefined : "node";
}

/** Why a request was denied or failed, from its condition. */
export function refusalReason({ status }: CertificateSigningRequest): string {
  const condition = status.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  const { type = "", reason = "", message = "" } = condition ?? {};
  return `${type} (${reason}): ${message}`;
}
