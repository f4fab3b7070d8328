import { errorCode, messageOf } from "../../api/thrown-error.ts";
import { RequestNotTaken } from "./connections.ts";

/** Why a request got no answer, and what the user can do. */
export interface ConnectionFault {
  readonly text: string;
  /** Whether the client's own certificates or key cannot be used. */
  readonly isOfCredentials?: true;
}

/** Where the client has the server's CA from. Undefined: no CA is named, so the system's CAs are trusted. */
export type CaSource = "the kubeconfig" | "--ca-file" | undefined;

/** Explains why a request got no answer. Undefined for an error that is not known as a fault of the connection. */
export function connectionFault(error: Error, caSource: CaSource): ConnectionFault | undefined {
  const code = errorCode(error);
  const hasKubeconfig = caSource === "the kubeconfig";
  const url = hasKubeconfig ? "the server's URL in the kubeconfig" : "the server's URL";
  const kind = error.name === "TimeoutError" ? "late" : kinds[code];
  if (kind !== undefined) return { text: kind === "untrusted" ? untrusted(caSource) : texts[kind](url) };
  // The codes do not say whether the server's certificate or its CA is at fault.
  const clock = `or this machine's clock is wrong (it says ${new Date().toISOString()})`;
  if (code === "CERT_HAS_EXPIRED") {
    const next =
      "set the clock, or restart the server: it renews its certificate, and its log says if the CA has expired";
    return { text: `its certificate or its CA has expired, ${clock}; ${next}` };
  }
  if (code === "CERT_NOT_YET_VALID") {
    const next =
      "set the clock, or try again in a minute: a server whose clock was ahead makes a new certificate; " +
      "its log says if the CA is not valid yet";
    return { text: `its certificate or its CA is not valid yet, ${clock}; ${next}` };
  }
  if (code === "ERR_PROXY_TUNNEL") {
    const where = hasKubeconfig ? "proxy-url in the kubeconfig, HTTPS_PROXY and NO_PROXY" : "HTTPS_PROXY and NO_PROXY";
    return { text: `there is no way through the proxy (${error.message}); check the proxy, and ${where}` };
  }
  if (error instanceof RequestNotTaken) return { text: texts.notTaken() };
  if (code.startsWith("ERR_HTTP2_")) return { text: texts.closed() };
  if (code.startsWith("HPE_")) return { text: texts.noHttp(url) };
  if (code.startsWith("ERR_SSL_")) {
    const where = hasKubeconfig ? " in the kubeconfig" : "";
    return { text: `TLS failed (${messageOf(error)}); check the client certificate${where}` };
  }
  // Certificates and keys are read when the first connection is made.
  if (code.startsWith("ERR_OSSL_")) {
    const text = hasKubeconfig
      ? "the kubeconfig's certificates or key cannot be used; get a new kubeconfig with signet kubeconfig"
      : "the CA's certificate, or the client certificate or its key, cannot be used; give another";
    return { text: `${text} (${error.message})`, isOfCredentials: true };
  }
  return undefined;
}

const texts = {
  refused: (url: string) => `nothing listens there; start it with signet serve, or check ${url}`,
  unknownHost: (url: string) => `there is no such host; check ${url}, and the DNS`,
  noRoute: (url: string) => `there is no way to it on the network; check the network and ${url}`,
  late: (url: string) => `it did not answer in time; check the network and ${url}`,
  closed: () => "it closed the connection before it had answered; try again, and look at the server's log",
  notTaken: () => "it takes no requests now, and may be stopping; try again",
  headersTooLong: () => "the headers for it have more than 64 KiB, most of them perhaps the token; use another token",
  noTls: (url: string) => `what listens there does not speak TLS; check ${url}`,
  noHttp: (url: string) => `the program that listens there is not an API server; check ${url}`,
  otherNames: () =>
    "its certificate is for other names; use a name that it is for, or start the server with --tls-san and this name",
};

function untrusted(caSource: CaSource): string {
  switch (caSource) {
    case "the kubeconfig":
      return (
        "its certificate is from a CA that the kubeconfig does not hold; give it the CA of this very server " +
        "(ca.crt in the server's data directory), or use another kubeconfig"
      );
    case "--ca-file":
      return (
        "its certificate is from a CA that --ca-file does not hold; give it the CA of this very server " +
        "(ca.crt in the server's data directory)"
      );
    case undefined:
      return (
        "its certificate is from a CA that this machine does not know; give the server's CA with --ca-file " +
        "(ca.crt in the server's data directory)"
      );
  }
}

const kinds: Readonly<Record<string, keyof typeof texts | "untrusted">> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "unknownHost",
  EAI_AGAIN: "unknownHost",
  EINVAL: "noRoute",
  EHOSTUNREACH: "noRoute",
  ENETUNREACH: "noRoute",
  ETIMEDOUT: "late",
  ECONNRESET: "closed",
  ECONNABORTED: "closed",
  EPIPE: "closed",
  ERR_HTTP2_HEADERS_TOO_LONG: "headersTooLong",
  EPROTO: "noTls",
  ERR_SSL_WRONG_VERSION_NUMBER: "noTls",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "noTls",
  DEPTH_ZERO_SELF_SIGNED_CERT: "untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "untrusted",
  CERT_SIGNATURE_FAILURE: "untrusted",
  CERT_UNTRUSTED: "untrusted",
  ERR_TLS_CERT_ALTNAME_INVALID: "otherNames",
};
