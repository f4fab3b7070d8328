import type { Log } from "../machinery/logging/log.ts";
import { impersonationHeaders } from "../features/access/credentials/impersonation.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import type { ConnectedAccounts } from "../features/accounts/feature.ts";
import type { ConnectedFederation } from "../features/federation/feature.ts";
import type { ConnectedNodes } from "../features/nodes/feature.ts";
import type { ConnectedRevocation } from "../features/revocation/feature.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import {
  refuseUsers,
  refuseUsersOfTokens,
  createAuthentication,
} from "../machinery/authentication/create-authentication.ts";
import type {
  RefusalOfUser,
  Authenticate,
  ObservedAuthentication,
} from "../machinery/authentication/create-authentication.ts";
import type { HttpRequest } from "../machinery/api/http-message.ts";
import { bearerToken, webSocketToken } from "../machinery/authentication/bearer-token.ts";
import type { Credential } from "../machinery/authentication/credential.ts";
import { identityHeaderRemover } from "../machinery/authentication/identity-headers.ts";
import type { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { firstGoodToken, forApiAudiences, tokenReviewer } from "../machinery/authentication/token-authentication.ts";
import type { ReviewToken } from "../machinery/authentication/token-authentication.ts";

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
  readonly authenticate: Authenticate;
  readonly reviewToken: ReviewToken;
  /** Why a user whose credential was good is refused now; undefined for all others. */
  readonly refusalOf: RefusalOfUser;
  /** The request without the headers that carry or claim an identity. */
  withoutIdentity(request: HttpRequest): HttpRequest;
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
      // Last, as in upstream: they may have to ask others, and a token of our own never leaves this process.
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
  return {
    authenticate: createAuthentication({
      credentials,
      mayBeAnonymous: (request) => access.mayBeAnonymous() && federation.mayBeAnonymous(request),
      onOutcome,
      onFailure: ({ name }, error) => log.error({ err: error, credential: name }, "could not check a credential"),
    }),
    reviewToken: tokenReviewer(verifyToken, apiAudiences),
    refusalOf,
    withoutIdentity: identityHeaderRemover([impersonationHeaders, ...credentials.map(({ headers }) => headers)]),
  };
}
