import { unauthorized } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { VerifyToken } from "../../features/accounts/tokens/service-account-tokens.ts";
import { anonymousUser } from "./anonymous.ts";
import { withAuthenticatedGroup } from "./authenticated-group.ts";
import { bearerToken } from "./bearer-token.ts";
import { clientCertificate } from "../../features/access/credentials/client-certificate.ts";
import type { ClientCertificateOptions } from "../../features/access/credentials/client-certificate.ts";
import { frontProxy } from "../../features/access/credentials/front-proxy.ts";
import type { FrontProxyOptions } from "../../features/access/credentials/front-proxy.ts";
import { tokenChain } from "./token-chain.ts";

export { bearerTokenWarnings } from "./bearer-token.ts";
export { bootstrapTokens } from "../../features/nodes/bootstrap/bootstrap-tokens.ts";
export { standardFrontProxyHeaders } from "../../features/access/credentials/front-proxy.ts";
export { identityHeaderRemover } from "./identity-headers.ts";
export { createImpersonation, mustImpersonate } from "../../features/access/credentials/impersonation.ts";
export { parseTokenFile } from "../../features/access/credentials/static-token-file.ts";
export { forApiAudiences } from "./token-chain.ts";

export interface AuthenticationOptions {
  /** Absent: there is no front proxy, and its headers mean nothing. */
  readonly frontProxy?: FrontProxyOptions;
  /** Absent: client certificates mean nothing. */
  readonly clientCertificates?: ClientCertificateOptions;
  /** In the order in which they are asked: service account tokens, Secrets' tokens, bootstrap tokens, the token file. */
  readonly tokenVerifiers: readonly VerifyToken[];
  readonly apiAudiences: readonly string[];
  readonly isAnonymousAllowed: boolean;
}

/** A TokenReview's findings. */
type TokenReviewResult =
  | { readonly isAuthenticated: true; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly isAuthenticated: false; readonly error: string };

export interface Authentication {
  /** Who asks. Throws a 401 ApiError for credentials of which none is good, and for none where anonymous may not ask. */
  authenticate(request: HttpRequest): UserInfo;
  /** Whose token it is. No audiences mean those of this API. The token is taken as it is. */
  reviewToken(token: string, audiences: readonly string[]): TokenReviewResult;
}

/**
 * The chain: the order is a security decision. A credential that is refused does not end it (a proxy's certificate is
 * not a client's), but makes 401 of what would have been anonymous.
 */
export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { apiAudiences, isAnonymousAllowed } = options;
  const verifyToken = tokenChain(options.tokenVerifiers);
  const chain = [
    ...(options.frontProxy === undefined ? [] : [frontProxy(options.frontProxy)]),
    ...(options.clientCertificates === undefined ? [] : [clientCertificate(options.clientCertificates)]),
    bearerToken(verifyToken, apiAudiences),
  ];

  return {
    authenticate(request) {
      let isRefused = false;
      for (const authenticate of chain) {
        const answer = authenticate(request);
        if (answer.outcome === "authenticated") return withAuthenticatedGroup(answer.user);
        isRefused ||= answer.outcome === "refused";
      }
      if (isRefused || !isAnonymousAllowed) throw unauthorized();
      return anonymousUser;
    },
    reviewToken(token, audiences) {
      const answer = verifyToken(token, audiences.length > 0 ? audiences : apiAudiences);
      if (answer.outcome === "notMine") return { isAuthenticated: false, error: "invalid bearer token" };
      if (answer.outcome === "refused") return { isAuthenticated: false, error: answer.message };
      return { isAuthenticated: true, user: withAuthenticatedGroup(answer.user), audiences: answer.audiences };
    },
  };
}
