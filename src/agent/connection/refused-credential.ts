import type { ApiError } from "../../machinery/api/api-error.ts";
import { anonymousUsername } from "../../machinery/api/user-info.ts";
import { lacksPermission } from "../../machinery/client/lacks-permission.ts";
import { serialNumberHex } from "../../pki/certificates/certificate.ts";
import type { BootstrapCredential } from "../agent-settings.ts";
import type { KeyPair } from "../certificates/key-pair.ts";

/** The credential of a request. */
type UsedCredential =
  | (BootstrapCredential & {
      /** Whether the node has had a certificate, so that its Node may exist. */
      readonly isOfKnownNode: boolean;
    })
  | {
      readonly type: "node certificate";
      readonly pair: KeyPair | undefined;
      /** Milliseconds since the epoch. */
      readonly now: number;
      /** What the agent does after the refusal, or what people can do. */
      readonly next: string;
    };

const newToken = "signet bootstrap-token create";
const newTokenOfKnownNode = `${newToken} --allow-existing-node`;

/** Says how to give a token to the agent of an existing node. */
export const tokenAdvice = (bootstrap: BootstrapCredential): string =>
  bootstrap.type === "token file"
    ? `put a token of ${newTokenOfKnownNode} into ${bootstrap.source}`
    : `give the agent a token of ${newTokenOfKnownNode} with --bootstrap-token-file`;

/** Says what an error of the server means for the credential that was used, and what to do. Contains nothing secret. */
export function refusalText(error: ApiError, credential: UsedCredential): string {
  const { code, reason, message } = error;
  if (reason === undefined) return `the server answered ${code} without a reason, as a proxy does: ${message}`;
  if (code === 401) return `the server does not accept ${nameOf(credential)} (401): ${adviceFor(credential)}`;
  if (code === 403 && isSent(credential) && message.includes(`User "${anonymousUsername}"`)) {
    return `the server did not get ${nameOf(credential)} (403): ${message}: a proxy or a load balancer between them must pass TLS through`;
  }
  if (code === 403) {
    return `the server accepts ${nameOf(credential)}, but does not permit the request (403): ${message}${lacksPermission(message) ? permissionAdvice(credential) : ""}`;
  }
  return message;
}

const isSent = (credential: UsedCredential): boolean =>
  credential.type === "node certificate" ? credential.pair !== undefined : credential.type !== "none";

function nameOf(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "a request without a credential";
    case "token":
    case "token file":
      return `${tokenName(credential.token())} of ${credential.source}`;
    case "certificate":
      return `the client certificate of ${credential.source}`;
    case "node certificate": {
      const { pair, now } = credential;
      if (pair === undefined) return "a request without a client certificate";
      return `the node's client certificate ${serialNumberHex(pair.certificate)}, which ${validityText(pair, now)}`;
    }
  }
}

/** Says until when a certificate is valid, or why not now. It is not valid yet when the server's clock was ahead at its issuance. */
function validityText({ certificate: { notBefore, notAfter } }: KeyPair, now: number): string {
  const time = (milliseconds: number): string => new Date(milliseconds).toISOString();
  if (now < notBefore) return `is only valid from ${time(notBefore)} on, and it is ${time(now)}`;
  return `${now > notAfter ? "expired" : "is valid until"} ${time(notAfter)}`;
}

/** Names a bootstrap token by its ID, which is public. */
function tokenName(token = ""): string {
  const id = /^([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(token)?.[1];
  return id === undefined ? "the token" : `the bootstrap token ${id}`;
}

function adviceFor(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "give the agent a bootstrap token";
    case "token":
    case "token file":
      return `it is unknown, was deleted or has expired: make another one with ${credential.isOfKnownNode ? newTokenOfKnownNode : newToken}`;
    case "certificate":
      return "it was revoked or has expired, or its CA is not one that the server accepts for clients";
    case "node certificate":
      return `the node is locked, or it was revoked or has expired, or its CA is not one that the server accepts any more: ${credential.next}`;
  }
}

const permissionAdvice = (credential: UsedCredential): string =>
  "token" in credential
    ? `: ${newToken} makes the bindings that machines need`
    : credential.type === "certificate"
      ? ": bind the roles of bootstrap tokens to its user or group"
      : "";
