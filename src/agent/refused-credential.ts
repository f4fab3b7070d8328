import type { ApiError } from "../machinery/api/api-error.ts";
import { serialNumberHex } from "../pki/certificate.ts";
import type { BootstrapCredential } from "./agent-settings.ts";
import type { KeyPair } from "./key-pair.ts";

/** The credential of a request. `now` is in milliseconds since the epoch. */
export type UsedCredential =
  BootstrapCredential | { readonly type: "node certificate"; readonly pair: KeyPair | undefined; readonly now: number };

/** What an error of the server means for the credential that was used, and what to do. Contains nothing secret. */
export function refusalText(error: ApiError, credential: UsedCredential): string {
  const { code, message } = error;
  if (code === 401) return `the server does not accept ${nameOf(credential)} (401): ${adviceFor(credential)}`;
  if (code === 403) {
    return `the server accepts ${nameOf(credential)}, but does not permit the request (403): ${message}${permissionAdvice(credential)}`;
  }
  return message;
}

function nameOf(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "a request without a credential";
    case "token":
      return `${tokenName(credential.token())} of ${credential.source}`;
    case "certificate":
      return `the client certificate of ${credential.source}`;
    case "node certificate": {
      const { pair, now } = credential;
      if (pair === undefined) return "a request without a client certificate";
      const { notAfter } = pair.certificate;
      const end = new Date(notAfter).toISOString();
      return `the node's client certificate ${serialNumberHex(pair.certificate)}, which ${now > notAfter ? "expired" : "is valid until"} ${end}`;
    }
  }
}

/** A bootstrap token begins with its ID, which is public. */
function tokenName(token = ""): string {
  const id = /^([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(token)?.[1];
  return id === undefined ? "the token" : `the bootstrap token ${id}`;
}

function adviceFor(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "give the agent a bootstrap token";
    case "token":
      return "it is unknown, was deleted or has expired: make another one with signet bootstrap-token create";
    case "certificate":
      return "it has expired, or its CA is not one that the server accepts for clients";
    case "node certificate":
      return "its CA is not one that the server accepts any more, or it has expired: the bootstrap credential is used, if there is one";
  }
}

const permissionAdvice = ({ type }: UsedCredential): string =>
  type === "token"
    ? ": signet bootstrap-token create makes the bindings that machines need"
    : type === "certificate"
      ? ": bind the roles of bootstrap tokens to its user or group"
      : "";
