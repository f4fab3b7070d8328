import type { CertificateSigningRequest } from "../features/certificates/resources.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { CertificateName } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";
import { isCertificateFor } from "./wanted-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

// All decisions about a certificate, as pure functions in the order in which they are made: when it is renewed, how it
// stands, what to do next, which identity to ask with, and what became of the request. `CertificateManager` acts on them.
// Times are milliseconds since the epoch, by the server's clock.

/**
 * When a certificate is renewed: at a random point at 70 to 90 % of its lifetime, so that machines that started together
 * do not come back together (upstream: `certificate.Manager.nextRotationDeadline`). Times are milliseconds since the epoch;
 * `random` is from 0 to 1.
 */
export function rotationPoint(
  { notBefore, notAfter }: { readonly notBefore: number; readonly notAfter: number },
  random: number,
): number {
  return Math.round(notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random));
}

/** How a certificate stands: the first word that fits. */
export type CertificateState =
  /** There is none. */
  | "missing"
  /** The server did not accept it. */
  | "refused"
  /** It is past its end. */
  | "expired"
  /** Names are missing in it. */
  | "outdated"
  /** Its time to be renewed has come. */
  | "due"
  | "current";

export interface CertificateQuestion {
  readonly certificate: Certificate | undefined;
  readonly wanted: WantedCertificate;
  readonly isRefused: boolean;
  /** Milliseconds since the epoch. */
  readonly rotateAt: number;
  readonly now: number;
}

/**
 * A certificate that is not valid yet counts as current: the signer's clock is ahead of this one, and asking again would
 * give another one like it.
 */
export function certificateState(question: CertificateQuestion): CertificateState {
  const { certificate, wanted, isRefused, rotateAt, now } = question;
  if (certificate === undefined) return "missing";
  if (isRefused) return "refused";
  if (now > certificate.notAfter) return "expired";
  if (!isCertificateFor(certificate, wanted)) return "outdated";
  return now >= rotateAt ? "due" : "current";
}

/** Everything that decides what happens next to a certificate. */
export interface RenewalState {
  readonly certificate: CertificateState;
  /** Until the certificate is due; negative when it has been for a while. */
  readonly dueInMilliseconds: number;
  /** Somebody asked for a new certificate now. */
  readonly isRotationAsked: boolean;
  /** A request is on its way since before this process began. */
  readonly hasPendingRequest: boolean;
  /** Until the next try may begin after a failure; 0 when nothing failed. */
  readonly retryInMilliseconds: number;
}

export type RenewalStep = { readonly do: "request" } | { readonly do: "wait"; readonly milliseconds: number };

/** What to do about a certificate: ask for a new one, or wait. */
export function nextStep(state: RenewalState): RenewalStep {
  const { certificate, dueInMilliseconds, isRotationAsked, hasPendingRequest, retryInMilliseconds } = state;
  const isWanted = certificate !== "current" || isRotationAsked || hasPendingRequest;
  if (!isWanted) return { do: "wait", milliseconds: dueInMilliseconds };
  return retryInMilliseconds > 0 ? { do: "wait", milliseconds: retryInMilliseconds } : { do: "request" };
}

/** As whom an agent asks for its client certificate. */
export type RequestIdentity =
  /** By the client certificate that it has. */
  | "node"
  /** By what it was given to begin with. */
  | "bootstrap";

export interface IdentityQuestion {
  /** The client certificate, if there is one. */
  readonly certificate: Certificate | undefined;
  /** The server answered 401 to it. */
  readonly isRefused: boolean;
  readonly hasBootstrap: boolean;
  readonly now: number;
}

/**
 * A node that has a certificate uses it, so that a bootstrap credential is needed once. One that ended or was refused is of
 * no use: then the machine introduces itself again, if it can. Undefined: there is nothing to ask with.
 */
export function requestIdentity(question: IdentityQuestion): RequestIdentity | undefined {
  const { certificate, isRefused, hasBootstrap, now } = question;
  const isUsable = certificate !== undefined && !isRefused && now <= certificate.notAfter;
  if (isUsable) return "node";
  if (hasBootstrap) return "bootstrap";
  // Perhaps the clock is what is wrong: the server is the one to judge.
  return certificate === undefined ? undefined : "node";
}

/** How a request stands with the server. */
export type RequestState =
  | "absent"
  | "issued"
  | "denied"
  | "failed"
  /** Nobody decided on it, or issued it, for too long. */
  | "overdue"
  | "pending";

/** How long an agent waits for a certificate before it asks anew (upstream: 15 minutes). */
const patienceMilliseconds = 15 * 60_000;

/** `now` is the server's time, in milliseconds since the epoch. */
export function requestState(request: CertificateSigningRequest | undefined, now: number): RequestState {
  if (request === undefined) return "absent";
  const { conditions = [], certificate } = request.status;
  const has = (type: string): boolean => conditions.some((condition) => condition.type === type);
  if (has("Denied")) return "denied";
  if (has("Failed")) return "failed";
  if (certificate) return "issued";
  return now >= overdueAt(request) ? "overdue" : "pending";
}

/** When a request that is pending becomes overdue. Milliseconds since the epoch, by the server's clock. */
export const overdueAt = ({ metadata }: CertificateSigningRequest): number =>
  Date.parse(metadata.creationTimestamp ?? "") + patienceMilliseconds;

/** Why a request came to nothing, as its condition says. */
export function refusalOf({ status }: CertificateSigningRequest): string {
  const condition = status.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  const { type = "", reason = "", message = "" } = condition ?? {};
  return `${type} (${reason}): ${message}`;
}

/** What keeps an agent from being healthy: certificates that are not there or have ended. `now` is milliseconds since the epoch. */
export const certificateFaults = (
  pairs: Readonly<Record<CertificateName, KeyPair | undefined>>,
  now: number,
): string[] =>
  Object.entries(pairs).flatMap(([name, pair]) => {
    if (pair === undefined) return [`there is no ${name} certificate`];
    return now > pair.certificate.notAfter ? [`the ${name} certificate has expired`] : [];
  });
