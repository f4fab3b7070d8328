import type { CertificateSigningRequest } from "../features/certificates/resources.ts";

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
