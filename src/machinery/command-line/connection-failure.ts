import { errorCode } from "../api/thrown-error.ts";
import { CommandFailure } from "./command-failure.ts";
import type { ExitName } from "./command-failure.ts";

interface Reason {
  readonly text: string;
  readonly exit?: ExitName;
}

const untrusted =
  "its certificate is from a CA that the kubeconfig does not name; use the kubeconfig of this very server (a server " +
  "writes admin.kubeconfig in its data directory)";
const noTls = "what listens there does not speak TLS; check the server's URL in the kubeconfig";
const noHttp = "the program that listens there is not an API server; check the server's URL in the kubeconfig";
const closed = "it closed the connection before it had answered; try again, and look at the server's log";
const unknownHost = "there is no such host; check the server's URL in the kubeconfig, and the DNS";
const noRoute = "there is no way to it on the network; check the network and the server's URL in the kubeconfig";

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; start it with signet serve, or check the server's URL in the kubeconfig",
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: "it did not answer in time; check the network and the server's URL in the kubeconfig",
  ECONNRESET: closed,
  ECONNABORTED: closed,
  EPIPE: closed,
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_UNTRUSTED: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID:
    "its certificate is for other names; use a name that it is for, or start the server with --tls-san and this name",
};

/** Explains why there was no answer. `server` is the URL. What is explained already stays as it is. */
export function connectionFailure(cause: unknown, server: string): unknown {
  if (cause instanceof CommandFailure || !(cause instanceof Error)) return cause;
  const reason = reasonOf(cause);
  if (reason === undefined) return cause;
  const { text, exit = "unreachable" } = reason;
  return new CommandFailure(`cannot reach the server ${server}: ${text}`, { exit, cause });
}

/** A server that says nothing, or stops in the middle of an answer. */
export const noAnswerInTime = (server: string, timeoutMilliseconds: number): CommandFailure =>
  new CommandFailure(
    `the server ${server} did not answer within ${timeoutMilliseconds / 1000}s; it may be overloaded, or something ` +
      "between drops what is sent: try again, or wait longer with --timeout",
    { exit: "unreachable" },
  );

function reasonOf(error: Error): Reason | undefined {
  const code = errorCode(error);
  const known = reasons[code];
  if (known !== undefined) return { text: known };
  const clock = `or this machine's clock is wrong (it says ${new Date().toISOString()})`;
  if (code === "CERT_HAS_EXPIRED") {
    return { text: `its certificate has expired, ${clock}; set the clock, or restart the server, which renews it` };
  }
  if (code === "CERT_NOT_YET_VALID") return { text: `its certificate is not valid yet, ${clock}; set the clock` };
  if (code.startsWith("HPE_")) return { text: noHttp };
  if (code.startsWith("ERR_SSL_")) {
    return { text: `TLS failed (${error.message}); check the client certificate in the kubeconfig` };
  }
  // Certificates and keys are read when the first connection is made.
  if (code.startsWith("ERR_OSSL_")) {
    const text = "the kubeconfig's certificates or key cannot be used; get a new kubeconfig with signet kubeconfig";
    return { text: `${text} (${error.message})`, exit: "usage" };
  }
  if (error.name === "TimeoutError") return { text: reasons["ETIMEDOUT"] ?? "" };
  return undefined;
}
