import type { Connection, Headers } from "../api/http-message.ts";
import { andThen } from "../api/maybe-promise.ts";
import { notApplicable, refused } from "./credential.ts";
import type { Credential, CredentialOutcome } from "./credential.ts";
import type { TokenCheck, VerifyToken } from "./token-authentication.ts";
import { firstHeaderValue } from "./header-values.ts";
import { subprotocolsOf } from "../api/web-socket-subprotocols.ts";
import { addressPath } from "../scheduling/share-path.ts";

const extraSpaceWarning =
  "the provided Authorization header contains extra space before the bearer token, and is ignored";

/**
 * The token of an Authorization header (RFC 6750 section 2.1): the unchanged word after `Bearer`, whose case is ignored. Other schemes, and
 * `Bearer` without a word, carry no token (upstream: `bearertoken.Authenticator`). Of several headers, the first counts.
 */
function bearerTokenOf(headers: Headers): string | undefined {
  const header = firstHeaderValue(headers, "authorization");
  if (header === "") return undefined;
  const [scheme = "", token] = header.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/**
 * A warning for a header that looks like a token but is none, because the client would not know why it is anonymous. Never throws, also
 * not for a header that is refused.
 */
export function bearerTokenWarnings({ authorization = "" }: Headers): string[] {
  const [first = ""] = [authorization].flat();
  return /^\s*bearer {2,}\S/i.test(first) ? [extraSpaceWarning] : [];
}

/** The client of a request is not known before its token is checked, but its address is. */
const checkFor = ({ remoteAddress }: Connection, audiences: readonly string[]): TokenCheck => ({
  audiences,
  asker: () => addressPath(remoteAddress),
});

/** Authenticates by the bearer token, for the audiences of this API. A token that no verifier knows is refused. */
export const bearerToken = (verify: VerifyToken, apiAudiences: readonly string[]): Credential => ({
  name: "bearer token",
  headers: { names: ["authorization"], prefixes: [] },
  authenticate({ headers, connection }) {
    const token = bearerTokenOf(headers);
    if (token === undefined) return notApplicable;
    return andThen(verify(token, checkFor(connection, apiAudiences)), (answer) =>
      answer.outcome === "notApplicable" ? refused("invalid bearer token") : answer,
    );
  },
});

/**
 * Authenticates a WebSocket handshake by the bearer token in its list of subprotocols, for browsers, whose pages cannot set headers
 * (upstream: `websocket.ProtocolAuthenticator`). The client must offer another subprotocol too, which the answer then names.
 */
export const webSocketToken = (verify: VerifyToken, apiAudiences: readonly string[]): Credential => ({
  name: "bearer token of a WebSocket",
  headers: { names: ["sec-websocket-protocol"], prefixes: [] },
  authenticate({ headers, connection, isWebSocket = false }) {
    if (!isWebSocket) return notApplicable;
    const { offered, tokens } = subprotocolsOf(headers);
    const [encoded] = tokens;
    if (encoded === undefined) return notApplicable;
    if (tokens.length > 1) return refused("several bearer tokens");
    const token = decoded(encoded);
    if (token === undefined) return refused("the bearer token is not base64url without padding, of UTF-8");
    if (offered.length === 0) return refused("a subprotocol must be offered besides the bearer token");
    if (token === "") return notApplicable;
    return andThen(verify(token, checkFor(connection, apiAudiences)), (answer): CredentialOutcome =>
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
