import { connectionFault } from "../../client/https/connection-fault.ts";
import { CommandFailure } from "../command-failure.ts";

/** Explains why there was no answer. `server` is the URL. A CommandFailure, which is explained already, stays as it is. */
export function connectionFailure(cause: unknown, server: string): unknown {
  if (cause instanceof CommandFailure || !(cause instanceof Error)) return cause;
  const fault = connectionFault(cause, "the kubeconfig");
  if (fault === undefined) return cause;
  const exit = fault.isOfCredentials ? "usage" : "unreachable";
  return new CommandFailure(`cannot reach the server ${server}: ${fault.text}`, { exit, cause });
}

/** The failure of a server that does not answer, or stops in the middle of an answer. */
export const noAnswerInTime = (server: string, timeoutMilliseconds: number): CommandFailure =>
  new CommandFailure(
    `the server ${server} did not answer within ${timeoutMilliseconds / 1000}s; it may be overloaded, or something ` +
      "between drops what is sent: try again, or wait longer with --timeout",
    { exit: "unreachable" },
  );
