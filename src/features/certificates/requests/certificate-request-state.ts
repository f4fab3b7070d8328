import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

/** The state of a request. Each controller acts on the states that it handles. */
export type CertificateRequestState = "pending" | "approved" | "denied" | "failed" | "issued";

/** Decides from the conditions and the certificate alone. Denied and failed come before everything else. */
export function certificateRequestState({ status }: CertificateSigningRequest): CertificateRequestState {
  const has = (type: string): boolean => status?.conditions?.some((condition) => condition.type === type) === true;
  if (has("Denied")) return "denied";
  if (has("Failed")) return "failed";
  if (!has("Approved")) return "pending";
  return status?.certificate ? "issued" : "approved";
}
