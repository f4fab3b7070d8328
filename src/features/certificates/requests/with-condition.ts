import { timestamp } from "../../../machinery/api/clock.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

export interface NewCondition {
  readonly type: "Approved" | "Denied" | "Failed";
  readonly reason: string;
  readonly message: string;
}

/** The request with one more condition, true since `now` (milliseconds since the epoch). */
export function withCondition(
  request: CertificateSigningRequest,
  condition: NewCondition,
  now: number,
): CertificateSigningRequest {
  const time = timestamp(now);
  const added = { ...condition, status: "True", lastUpdateTime: time, lastTransitionTime: time };
  return { ...request, status: { ...request.status, conditions: [...(request.status.conditions ?? []), added] } };
}
