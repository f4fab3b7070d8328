import { maximumMessageLength } from "../api/api-error.ts";
import { shortened } from "../api/text/format-value.ts";
import type { Status, StatusDetails, StatusReason } from "../api/status.ts";

/** A reason is one word. */
const maximumReasonLength = 256;

/** The parts of a Status. The details, in which servers may send anything, are checked where they are used. */
export interface ReceivedStatus {
  readonly message: string | undefined;
  readonly reason: StatusReason | undefined;
  readonly details: StatusDetails | undefined;
}

/** Reads a Status that a server sent, with texts no longer than Signet's own. Undefined for anything else. */
export function receivedStatus(value: unknown): ReceivedStatus | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, message, reason, details }: Partial<Record<keyof Status, unknown>> = value;
  if (kind !== "Status") return undefined;
  return {
    message: typeof message === "string" ? shortened(message, maximumMessageLength) : undefined,
    // Other servers have reasons of their own.
    reason: typeof reason === "string" ? (shortened(reason, maximumReasonLength) as StatusReason) : undefined,
    details: typeof details === "object" && details !== null ? details : undefined,
  };
}
