import type { Headers } from "../api/http-message.ts";
import { andThen } from "../api/maybe-promise.ts";
import type { Credential } from "./credential.ts";
import { notApplicable, refused } from "./not-authenticated.ts";
import type { VerifyToken } from "./token-authentication.ts";
import { firstHeaderValue } from "./header-values.ts";

const extraSpaceWarning =
  "the provided Authorization header contains extra space before the bearer token, and is ignored";

/**
 * The token of an Authorization header (RFC 6750 section 2.1): the word after `Bearer`, in any case, as it is. Other schemes,
 * and `Bearer` without a word, carry no token (upstream: `bearertoken.Authenticator`). Of several headers the first counts.
 */
function bearerTokenOf(headers: Headers): string | undefined {
  const header = firstHeaderValue(headers, "authorization");
  if (header === "") return undefined;
  const [scheme = "", token] = header.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** A warning for a header that looks like a token but is not one: the client would wonder why it is anonymous. */
export function bearerTokenWarnings(headers: Headers): string[] {
  return /^\s*bearer {2,}\S/i.test(firstHeaderValue(headers, "authorization")) ? [extraSpaceWarning] : [];
}

/** Authenticates by the bearer token, for the audiences of this API. A token that no verifier knows is refused. */
export const bearerToken = (verify: VerifyToken, apiAudiences: readonly string[]): Credential => ({
  name: "bearer token",
  headers: { names: ["authorization"], prefixes: [] },
  authenticate({ headers }) {
    const token = bearerTokenOf(headers);
    if (token === undefined) return notApplicable;
    return andThen(verify(token, apiAudiences), (answer) =>
      answer.outcome === "notApplicable" ? refused("invalid bearer token") : answer,
    );
  },
});
