import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import type { HttpRequest } from "../machinery/api/http-message.ts";
import type { Names } from "../machinery/api/names.ts";
import { createAuthentication } from "../machinery/authentication/authentication.ts";
import type { Authenticate } from "../machinery/authentication/authentication.ts";
import { bearerToken } from "../machinery/authentication/bearer-token.ts";
import type { Credential } from "../machinery/authentication/credential.ts";
import { identityHeaderRemover } from "../machinery/authentication/identity-headers.ts";
import type { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { firstGoodToken, forApiAudiences, tokenReviewer } from "../machinery/authentication/token-authentication.ts";
import type { ReviewToken } from "../machinery/authentication/token-authentication.ts";
import { parseSettingsFile, readCertificates } from "../machinery/command-line/settings-files.ts";
import { clientCertificate } from "../features/access/credentials/client-certificate.ts";
import { frontProxy } from "../features/access/credentials/front-proxy.ts";
import { impersonationHeaders } from "../features/access/credentials/impersonation.ts";
import { parseTokenFile } from "../features/access/credentials/static-token-file.ts";
import { bootstrapSecrets } from "../features/accounts/look-ups.ts";
import type { FindRegistry } from "../features/accounts/look-ups.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";
import { bootstrapTokens } from "../features/nodes/bootstrap/bootstrap-tokens.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { ServeOptions } from "./serve-flags.ts";

export interface AuthenticationServicesOptions {
  readonly options: ServeOptions;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: FindRegistry;
  readonly tokens: TokenServices;
  readonly loopback: LoopbackTokens;
  /** CAs of client certificates: the administrator's, and those of the client signers. */
  readonly clientAuthorities: () => readonly Certificate[];
}

export interface Authentication {
  readonly authenticate: Authenticate;
  readonly reviewToken: ReviewToken;
  /** The request without the headers that carry or claim an identity. */
  withoutIdentity(request: HttpRequest): HttpRequest;
}

/**
 * Every credential and every kind of token, in the order in which they are asked: it is a security decision. Throws
 * UsageError for a file that can't be used.
 */
export function openAuthentication(services: AuthenticationServicesOptions): Authentication {
  const { options, names, clock, registry, tokens, loopback } = services;
  const { apiAudiences } = tokens;
  const tokenFile = options["token-auth-file"];
  const findStatic = tokenFile && parseSettingsFile("token-auth-file", tokenFile, parseTokenFile);
  const findBootstrap = bootstrapTokens({ names, clock, findSecret: bootstrapSecrets(registry) });
  const caFile = options["client-ca-file"];
  const given = caFile === undefined ? [] : readCertificates("client-ca-file", caFile);

  const verifyToken = firstGoodToken([
    ...tokens.verifiers,
    forApiAudiences((token) => loopback.find(token), apiAudiences),
    forApiAudiences(findBootstrap, apiAudiences),
    ...(findStatic ? [forApiAudiences(findStatic, apiAudiences)] : []),
  ]);
  const credentials = [
    frontProxyOf(options, clock),
    clientCertificate({ names, clock, roots: () => [...services.clientAuthorities(), ...given] }),
    bearerToken(verifyToken, apiAudiences),
  ];
  return {
    authenticate: createAuthentication({
      credentials,
      isAnonymousAllowed: isAnonymousAllowed(services),
      onFailure: ({ name }, error) =>
        services.log.error({ err: error, credential: name }, "could not check a credential"),
    }),
    reviewToken: tokenReviewer(verifyToken, apiAudiences),
    withoutIdentity: identityHeaderRemover([impersonationHeaders, ...credentials.map(({ headers }) => headers)]),
  };
}

/** With AlwaysAllow everybody who reaches the port would be an administrator: anonymous requests end there, as upstream's. */
function isAnonymousAllowed({ options, log }: AuthenticationServicesOptions): boolean {
  const isWanted = options["anonymous-auth"];
  if (!isWanted || !options["authorization-mode"].includes("AlwaysAllow")) return isWanted;
  log.warn("--anonymous-auth is not allowed with the authorizer AlwaysAllow and is off; use another authorizer");
  return false;
}

function frontProxyOf(options: ServeOptions, clock: Clock): Credential {
  const lower = (headerNames: readonly string[]): string[] => headerNames.map((name) => name.toLowerCase());
  const file = options["requestheader-client-ca-file"];
  const roots = file === undefined ? [] : readCertificates("requestheader-client-ca-file", file);
  return frontProxy({
    roots: () => roots,
    clock,
    allowedNames: options["requestheader-allowed-names"],
    isUserRequired: options["requestheader-user-required"],
    headers: {
      usernameHeaders: lower(options["requestheader-username-headers"]),
      uidHeaders: lower(options["requestheader-uid-headers"]),
      groupHeaders: lower(options["requestheader-group-headers"]),
      extraHeaderPrefixes: lower(options["requestheader-extra-headers-prefix"]),
    },
  });
}
