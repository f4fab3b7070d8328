import { CommanderError } from "commander";
import { ApiError } from "../machinery/api/api-error.ts";
import { KubeconfigError } from "../machinery/client/kubeconfig/kubeconfig-error.ts";
import { lacksPermission } from "../machinery/client/lacks-permission.ts";
import { UnreadableAnswer } from "../machinery/client/transport.ts";
import { CommandFailure, exitCodes } from "../machinery/command-line/command-failure.ts";
import { listenFault } from "../machinery/command-line/listen-fault.ts";
import { printable } from "../machinery/command-line/output/printable.ts";
import { fileFailureReason, namesPath, UnusableFile } from "../machinery/files/unusable-file.ts";
import { StoreDamaged, StoreUnavailable } from "../machinery/storage/store.ts";
import { PkiError } from "../pki/pki-error.ts";

/** How a command failed, for the person who ran it. */
interface FailureReport {
  readonly exitCode: number;
  /** One line, or "" when everything was already printed. Only the message for a bug contains a stack. */
  readonly message: string;
}

/** Explains an error. `commandPath` is the command, such as `signet csr create`. */
export function failureReport(error: unknown, commandPath: string): FailureReport {
  if (error instanceof CommanderError) return commandLineReport(error, commandPath);
  if (error instanceof CommandFailure) return { exitCode: error.exitCode, message: printable(error.message) };
  if (error instanceof KubeconfigError || error instanceof UnusableFile || error instanceof PkiError) {
    return { exitCode: exitCodes.usage.code, message: printable(error.message) };
  }
  if (error instanceof UnreadableAnswer) {
    const advice = "check that the kubeconfig names a Signet server, and try again";
    return { exitCode: exitCodes.unreachable.code, message: `${printable(error.message)}; ${advice}` };
  }
  if (error instanceof StoreDamaged) return { exitCode: exitCodes.refused.code, message: printable(error.message) };
  if (error instanceof StoreUnavailable) {
    const advice = "see what the system, or etcd, logs of it, and try again";
    return { exitCode: exitCodes.refused.code, message: `${printable(error.message)}; ${advice}` };
  }
  if (error instanceof ApiError) return refusalReport(error);
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    return { exitCode: exitCodes.refused.code, message: printable(systemFailure(error)) };
  }
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: exitCodes.bug.code,
    message: `this is a fault in Signet; please report it with these lines:\n${details}`,
  };
}

function commandLineReport(error: CommanderError, commandPath: string): FailureReport {
  if (error.exitCode === 0) return { exitCode: 0, message: "" };
  const exitCode = exitCodes.usage.code;
  // commander printed the help instead of an error.
  if (error.code === "commander.help") return { exitCode, message: "" };
  const reason = error.message
    .replace(/^error: (?:command-argument value )?/, "")
    .replaceAll("\n", " ")
    .replace(/\.$/, "");
  return { exitCode, message: printable(`${reason}; see ${commandPath} --help`) };
}

/** The advice for a refusal, by its reason. It follows the server's message. */
const advice: ReadonlyMap<string, string> = new Map([
  ["NotFound", "check the name, and the namespace if it has one"],
  ["AlreadyExists", "choose another name, or delete what is there"],
  ["Conflict", "it was changed meanwhile: look at it again, and repeat"],
  ["TooManyRequests", "try again later"],
  ["ServiceUnavailable", "try again later"],
  ["Timeout", "try again later"],
  ["InternalError", "the server's log says why"],
]);

const adviceForForbidden = (message: string): string =>
  lacksPermission(message)
    ? "signet auth can-i --list shows what you may do"
    : "this is not about permissions: ask for something that the rule allows";

function refusalReport({ code, reason, message, details }: ApiError): FailureReport {
  // For a missing object, the details contain its name. For a path that the server does not serve, they have none.
  const lacksApi = code === 404 && !details?.name;
  if (lacksApi || reason === undefined) {
    const what = lacksApi
      ? "the server does not have this API (404)"
      : `the answer (${code}) is not one of an API server`;
    const next = lacksApi
      ? "it may not be Signet: check its URL in the kubeconfig"
      : "check the server's URL in the kubeconfig";
    return { exitCode: exitCodes.unreachable.code, message: printable(`${what}: ${message.trimEnd()}; ${next}`) };
  }
  const exitCode = (code === 401 ? exitCodes.unauthenticated : exitCodes.refused).code;
  const next = reason === "Forbidden" ? adviceForForbidden(message) : advice.get(reason);
  const text = `the server refused (${code} ${reason}): ${message}${next === undefined ? "" : `; ${next}`}`;
  return { exitCode, message: printable(text) };
}

/** Explains why the operating system refused something. */
function systemFailure(error: Error): string {
  const fault = listenFault(error);
  if (fault !== undefined) return fault;
  if ("syscall" in error && error.syscall === "uv_cwd") return "the current folder was removed; go to another";
  return namesPath(error) ? `cannot use ${error.path}: ${fileFailureReason(error)}` : error.message;
}
