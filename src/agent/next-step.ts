import type { CertificateState } from "./certificate-state.ts";

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
