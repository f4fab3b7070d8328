import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import {
  bootstrapTokens,
  createAuthentication,
  forApiAudiences,
  parseTokenFile,
} from "../machinery/authentication/authentication.ts";
import type { Authentication } from "../machinery/authentication/authentication.ts";
import type { FrontProxyHeaders, FrontProxyOptions } from "../features/access/credentials/front-proxy.ts";
import type { ServeOptions } from "./serve-flags.ts";
import type { Certificate } from "../pki/certificate.ts";
import { bootstrapSecrets } from "../features/accounts/look-ups.ts";
import type { FindRegistry } from "../features/accounts/look-ups.ts";
import type { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { parseSettingsFile, readCertificates } from "../machinery/command-line/settings-files.ts";
import type { TokenServices } from "../features/accounts/token-services.ts";

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

/** The authenticators that the settings ask for. Throws UsageError for a file that can't be used. */
export function openAuthentication(services: AuthenticationServicesOptions): Authentication {
  const { options, names, clock, registry, tokens, loopback } = services;
  const { apiAudiences } = tokens;
  const tokenFile = options["token-auth-file"];
  const findStatic = tokenFile && parseSettingsFile("token-auth-file", tokenFile, parseTokenFile);
  const findBootstrap = bootstrapTokens({ names, clock, findSecret: bootstrapSecrets(registry) });
  const caFile = options["client-ca-file"];
  const given = caFile === undefined ? [] : readCertificates("client-ca-file", caFile);
  const proxy = frontProxyOptions(options, clock);
  return createAuthentication({
    ...(proxy !== undefined && { frontProxy: proxy }),
    clientCertificates: { names, clock, roots: () => [...services.clientAuthorities(), ...given] },
    tokenVerifiers: [
      ...tokens.verifiers,
      forApiAudiences((token) => loopback.find(token), apiAudiences),
      forApiAudiences(findBootstrap, apiAudiences),
      ...(findStatic ? [forApiAudiences(findStatic, apiAudiences)] : []),
    ],
    apiAudiences,
    isAnonymousAllowed: isAnonymousAllowed(services),
  });
}

/** The CAs of the settings' files whose client certificates are believed: users', and front proxies'. */
export const clientAuthorityFiles = (options: ServeOptions): Certificate[] =>
  (["client-ca-file", "requestheader-client-ca-file"] as const).flatMap((flag) => {
    const file = options[flag];
    return file === undefined ? [] : readCertificates(flag, file);
  });

/** With AlwaysAllow everybody who reaches the port would be an administrator: anonymous requests end there, as upstream's. */
function isAnonymousAllowed({ options, log }: AuthenticationServicesOptions): boolean {
  const isWanted = options["anonymous-auth"];
  if (!isWanted || !options["authorization-mode"].includes("AlwaysAllow")) return isWanted;
  log.warn("--anonymous-auth is not allowed with the authorizer AlwaysAllow and is off; use another authorizer");
  return false;
}

/** The names of the headers that a front proxy uses, in lower case. */
export function frontProxyHeaders(options: ServeOptions): FrontProxyHeaders {
  const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());
  return {
    usernameHeaders: lower(options["requestheader-username-headers"]),
    uidHeaders: lower(options["requestheader-uid-headers"]),
    groupHeaders: lower(options["requestheader-group-headers"]),
    extraHeaderPrefixes: lower(options["requestheader-extra-headers-prefix"]),
  };
}

function frontProxyOptions(options: ServeOptions, clock: Clock): FrontProxyOptions | undefined {
  const file = options["requestheader-client-ca-file"];
  if (file === undefined) return undefined;
  const roots = readCertificates("requestheader-client-ca-file", file);
  return {
    ...frontProxyHeaders(options),
    roots: () => roots,
    clock,
    allowedNames: options["requestheader-allowed-names"],
    isUserRequired: options["requestheader-user-required"],
  };
}
