import { errorCode } from "../machinery/api/thrown-error.ts";

/** The agent's log. Keys and tokens are never written to it. */
export interface AgentLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** One line for the log, with a hint when the cause is known. Contains nothing secret. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = hints.get(errorCode(error));
  return hint === undefined ? error.message : `${error.message}: ${hint}`;
}

const hints: ReadonlyMap<string, string> = new Map([
  ["CERT_NOT_YET_VALID", "the server's certificate begins in the future: this machine's clock may be slow"],
  ["CERT_HAS_EXPIRED", "the server's certificate has expired, or this machine's clock is fast"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "the given CA is not the server's"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "the given CA is not the server's"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "the given CA is not the server's"],
]);
