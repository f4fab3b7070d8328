import { andThen } from "../api/maybe-promise.ts";
import { subprotocolsOf } from "../api/web-socket-subprotocols.ts";
import type { Credential, CredentialOutcome } from "./credential.ts";
import { notApplicable, refused } from "./not-authenticated.ts";
import type { VerifyToken } from "./token-authentication.ts";

/**
 * Authenticates a WebSocket handshake by the bearer token in its list of subprotocols, for browsers: a page cannot set
 * headers (upstream: `websocket.ProtocolAuthenticator`). There must be another subprotocol, which the answer then names.
 */
export const webSocketToken = (verify: VerifyToken, apiAudiences: readonly string[]): Credential => ({
  name: "bearer token of a WebSocket",
  headers: { names: ["sec-websocket-protocol"], prefixes: [] },
  authenticate({ headers, isWebSocket = false }) {
    if (!isWebSocket) return notApplicable;
    const { offered, tokens } = subprotocolsOf(headers);
    const [encoded] = tokens;
    if (encoded === undefined) return notApplicable;
    if (tokens.length > 1) return refused("several bearer tokens");
    const token = decoded(encoded);
    if (token === undefined) return refused("the bearer token is not base64url without padding, of UTF-8");
    if (offered.length === 0) return refused("a subprotocol must be offered besides the bearer token");
    if (token === "") return notApplicable;
    return andThen(verify(token, apiAudiences), (answer): CredentialOutcome =>
      answer.outcome === "notApplicable" ? refused("invalid bearer token") : answer,
    );
  },
});

function decoded(text: string): string | undefined {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, "base64url"));
  } catch {
    return undefined;
  }
}
