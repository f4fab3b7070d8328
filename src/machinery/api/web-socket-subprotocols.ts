import type { Headers } from "./http-message.ts";

/** Prefixes a bearer token in the list of subprotocols: the only place where a browser lets a page put one. */
const tokenPrefix = "base64url.bearer.authorization.k8s.io.";

interface Subprotocols {
  /** The protocols that the client offers, in its order. */
  readonly offered: readonly string[];
  /** Bearer tokens, still encoded. */
  readonly tokens: readonly string[];
}

/** Separates the tokens from the other subprotocols, so that no answer repeats a token. */
export function subprotocolsOf(headers: Headers): Subprotocols {
  const words = subprotocolWords(headers);
  return {
    offered: words.filter((word) => !word.startsWith(tokenPrefix)),
    tokens: words.filter((word) => word.startsWith(tokenPrefix)).map((word) => word.slice(tokenPrefix.length)),
  };
}

/** Repeated headers are one list (RFC 6455 section 11.3.4). */
export const subprotocolWords = (headers: Headers): readonly string[] =>
  [headers["sec-websocket-protocol"] ?? []]
    .flat()
    .flatMap((value) => value.split(","))
    .map((word) => word.trim());
