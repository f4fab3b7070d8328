import type { Log } from "../machinery/logging/log.ts";
import { impersonationHeaders } from "../features/access/credentials/impersonation.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import type { ConnectedAccounts } from "../features/accounts/feature.ts";
import type { ConnectedFederation } from "../features/federation/feature.ts";
import type { ConnectedNodes } from "../features/nodes/feature.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import { unauthorized } from "../machinery/api/api-error.ts";
import { anonymousUsername } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import {
  refuseUsers,
  refuseUsersOfTokens,
  createAuthentication,
} from "../machinery/authentication/create-authentication.ts";
import type { ObservedAuthentication } from "../machinery/authentication/create-authentication.ts";
import { bearerToken, bearerTokenWarnings, webSocketToken } from "../machinery/authentication/bearer-token.ts";
import type { Credential } from "../machinery/authentication/credential.ts";
import { identityHeaderRemover } from "../machinery/authentication/identity-headers.ts";
import { credentialWarnings } from "../machinery/authentication/presented-credential.ts";
import type { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { firstGoodToken, forApiAudiences, tokenReviewer } from "../machinery/authentication/token-authentication.ts";
import type { ReviewToken } from "../machinery/authentication/token-authentication.ts";
import type { ChainOptions } from "../machinery/http/request-chain.ts";

interface AuthenticationParts {
  readonly log: Log;
  readonly access: ConnectedAccess;
  readonly accounts: ConnectedAccounts;
  readonly federation: ConnectedFederation;
  readonly nodes: ConnectedNodes;
  readonly revocation: ConnectedRevocation;
  readonly loopback: LoopbackTokens;
  readonly onOutcome: (authentication: ObservedAuthentication) => void;
}

interface ServerAuthentication {
  /** The parts for the request chain. */
  readonly steps: Pick<ChainOptions, "authenticate" | "refuseRevoked" | "withoutIdentity" | "identityWarnings">;
  readonly reviewToken: ReviewToken;
  /** Whether a user is refused now although the credential was valid earlier. */
  isRefused(user: UserInfo): boolean;
}

/** Every credential and every type of token, in the order of evaluation. The order is a security decision. */
export function openAuthentication({
  log,
  access,
  accounts,
  federation,
  nodes,
  revocation,
  loopback,
  onOutcome,
}: AuthenticationParts): ServerAuthentication {
  const { apiAudiences } = accounts.tokens;
  const refusalOf = (user: UserInfo): string | undefined => {
    const node = nodes.locked.lockedNodeOf(user);
    return node === undefined ? revocation.refusalOf(user) : `the node ${JSON.stringify(node)} is locked`;
  };
  const verifyToken = refuseUsersOfTokens(
    firstGoodToken([
      ...accounts.tokens.verifiers,
      forApiAudiences((token) => loopback.find(token), apiAudiences),
      forApiAudiences(nodes.findBootstrapToken, apiAudiences),
      forApiAudiences(access.findStaticToken, apiAudiences),
      // Last, as in upstream: these may have to ask other servers, and one of Signet's own tokens never leaves this process.
      ...federation.verifiers,
    ]),
    refusalOf,
  );
  const credentials: readonly Credential[] = [
    refuseUsers(access.credentials.frontProxy, refusalOf),
    refuseUsers(access.credentials.clientCertificate, refusalOf),
    bearerToken(verifyToken, apiAudiences),
    webSocketToken(verifyToken, apiAudiences),
  ];
  const isRefused = (user: UserInfo): boolean => refusalOf(user) !== undefined;
  return {
    steps: {
      authenticate: createAuthentication({
        credentials,
        mayBeAnonymous: (request) => access.mayBeAnonymous() && federation.mayBeAnonymous(request),
        onOutcome,
        onFailure: ({ name }, error) => log.error({ err: error, credential: name }, "could not check a credential"),
      }),
      refuseRevoked(user) {
        if (isRefused(user)) throw unauthorized();
      },
      withoutIdentity: identityHeaderRemover([impersonationHeaders, ...credentials.map(({ headers }) => headers)]),
      identityWarnings: (request, user) =>
        user === undefined || user.username === anonymousUsername
          ? bearerTokenWarnings(request.headers)
          : credentialWarnings(user),
    },
    reviewToken: tokenReviewer(verifyToken, apiAudiences),
    isRefused,
  };
}
