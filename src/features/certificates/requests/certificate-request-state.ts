import { timestamp } from "../../../machinery/api/clock.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "./certificate-signing-request-schema.ts";

/** The state of a request. Each controller acts on the states that it handles. */
export type CertificateRequestState = "pending" | "approved" | "denied" | "failed" | "issued";

/** The state of a request, only from its conditions and its certificate. Denied and failed have precedence over all other states. */
export function certificateRequestState({ status }: CertificateSigningRequest): CertificateRequestState {
  let isApproved = false;
  let isFailed = false;
  for (const { type } of status.conditions ?? []) {
    if (type === "Denied") return "denied";
    if (type === "Failed") isFailed = true;
    if (type === "Approved") isApproved = true;
  }
  if (isFailed) return "failed";
  if (!isApproved) return "pending";
  return status.certificate ? "issued" : "approved";
}

/** The condition of a type. Undefined: the request has none. */
export const conditionOf = (
  { status }: CertificateSigningRequest,
  wanted: string,
): CertificateSigningRequestCondition | undefined => status.conditions?.find(({ type }) => type === wanted);

/** Whether a request is neither issued nor denied nor failed. */
export const isUnfinished = (request: CertificateSigningRequest): boolean =>
  ["pending", "approved"].includes(certificateRequestState(request));

/** The state of a request as kubectl shows it, such as `Approved,Issued`. */
export function certificateRequestSummary({ status }: CertificateSigningRequest): string {
  const types = new Set((status.conditions ?? []).map(({ type }) => type));
  return [
    types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending",
    ...(types.has("Failed") ? ["Failed"] : []),
    ...(status.certificate ? ["Issued"] : []),
  ].join(",");
}

interface NewCondition {
  readonly type: "Approved" | "Denied" | "Failed";
  readonly reason: string;
  readonly message: string;
  /** The time of the condition, in milliseconds since the epoch. */
  readonly now: number;
}

/** The request with one more condition. */
export function withCondition(
  request: CertificateSigningRequest,
  { now, ...condition }: NewCondition,
): CertificateSigningRequest {
  const time = timestamp(now);
  const added = { ...condition, status: "True", lastUpdateTime: time, lastTransitionTime: time };
  return { ...request, status: { ...request.status, conditions: [...(request.status.conditions ?? []), added] } };
}
