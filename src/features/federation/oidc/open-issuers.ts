import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { HttpRequest } from "../../../machinery/api/http-message.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { periodically } from "../../../machinery/scheduling/periodically.ts";
import type { VerifyToken } from "../../../machinery/authentication/token-authentication.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import {
  parseSettingsFile,
  readFollowedFile,
  readSettingsFile,
} from "../../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import type { FederationSettings, OidcFlags } from "../settings.ts";
import { fetchDocument } from "./fetch-document.ts";
import type { FetchDocument } from "./fetch-document.ts";
import { issuedTokens } from "./issued-token.ts";
import { IssuerKeys } from "./issuer-keys.ts";
import type { Issuer } from "./issuer-keys.ts";
import { compileConfiguration, parseAuthenticationConfiguration } from "./parse-authentication-configuration.ts";
import type { AnonymousConfiguration, ParsedConfiguration } from "./parse-authentication-configuration.ts";
import type { Log } from "../../../machinery/logging/log.ts";

const flag = "authentication-config";
/** How often to check whether the keys of an issuer must be fetched. */
const pollMilliseconds = 1_000;

export interface OpenIssuersOptions {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  readonly followed: FollowedFiles;
  readonly apiAudiences: readonly string[];
  /** The server's own issuers. */
  readonly ownIssuers: readonly string[];
  /** The value of `--anonymous-auth`. */
  readonly isAnonymousWanted: boolean;
  /** Default: over HTTPS. */
  readonly fetch?: FetchDocument;
  /** Resolves after a time in milliseconds. Default: a timer that keeps no process running. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

export interface OpenedIssuers {
  readonly verify: VerifyToken;
  mayBeAnonymous(request: HttpRequest): boolean;
  close(): void;
}

/** The opened issuers of one version of the configuration. */
interface OpenedVersion {
  /** The URLs of the issuers. */
  readonly issuers: readonly string[];
  readonly keys: ReadonlyMap<string, IssuerKeys>;
  readonly verify: VerifyToken;
  readonly anonymous: AnonymousConfiguration | undefined;
}

/**
 * Opens the configured issuers and begins to fetch their keys, without waiting for them. Follows the file: when it becomes invalid, the old
 * configuration stays in force. Issuers that a new version does not change keep their keys. Throws UsageError for a configuration that is
 * invalid at the start.
 */
export function openIssuers(
  settings: NonNullable<FederationSettings["issuers"]>,
  options: OpenIssuersOptions,
): OpenedIssuers {
  const { log, followed } = options;
  const file = settings.type === "file" ? settings.file : settings.authorityFile;
  const current = followed.follow<OpenedVersion>({
    setting: settings.type === "file" ? flag : "oidc-ca-file",
    files: () => (file === undefined ? [] : [file]),
    load(previous) {
      const parsed =
        settings.type === "file" ? parseFile(settings.file, options) : configurationOfFlags(settings, options);
      const next = openVersion(parsed, { ...options, previous: previous?.keys ?? new Map() });
      fetchMissing(next);
      return next;
    },
    describe: ({ issuers }) => ({ issuers }),
  });
  const polling = periodically({
    milliseconds: pollMilliseconds,
    task: () => fetchMissing(current()),
    onFailure: (error) => log.error({ err: error }, "could not look after the issuers' keys"),
  });
  return {
    verify: (token, check) => current().verify(token, check),
    mayBeAnonymous({ path }) {
      const { anonymous } = current();
      if (anonymous === undefined) return true;
      return anonymous.isEnabled && (anonymous.paths.length === 0 || anonymous.paths.includes(path));
    },
    close() {
      polling.stop();
      for (const keys of current().keys.values()) keys.close();
    },
  };
}

function fetchMissing({ keys }: OpenedVersion): void {
  for (const one of keys.values()) one.current();
}

function parseFile(file: string, { names, ownIssuers, isAnonymousWanted }: OpenIssuersOptions): ParsedConfiguration {
  const parse = (text: string): ParsedConfiguration => parseAuthenticationConfiguration(text, { names, ownIssuers });
  const parsed = parseSettingsFile({ flag, file, read: readFollowedFile }, parse);
  if (parsed.anonymous === undefined || isAnonymousWanted) return parsed;
  throw new UsageError(
    `--${flag}: ${file}: anonymous: --anonymous-auth is set too; leave out the flag, and say it in the file`,
  );
}

/** The configuration of the flags, converted as in upstream. */
function configurationOfFlags(flags: OidcFlags, { names, ownIssuers }: OpenIssuersOptions): ParsedConfiguration {
  const { issuerUrl, clientId, authorityFile, groupsClaim } = flags;
  const configuration = {
    jwt: [
      {
        issuer: {
          url: issuerUrl,
          audiences: [clientId],
          ...(authorityFile !== undefined && {
            certificateAuthority: readSettingsFile("oidc-ca-file", authorityFile),
          }),
        },
        claimMappings: {
          username: { claim: flags.usernameClaim, prefix: flags.usernamePrefix },
          groups: groupsClaim === undefined ? {} : { claim: groupsClaim, prefix: flags.groupsPrefix },
          uid: {},
        },
        claimValidationRules: flags.requiredClaims.map(([claim, requiredValue]) => ({ claim, requiredValue })),
      },
    ],
  };
  try {
    const { trusted, anonymous } = compileConfiguration(configuration, { names, ownIssuers });
    const algorithms = flags.signingAlgorithms;
    return { trusted: trusted.map((one) => ({ ...one, issuer: { ...one.issuer, algorithms } })), anonymous };
  } catch (cause) {
    throw new UsageError(`--oidc flags: ${messageOf(cause)}`, { cause });
  }
}

const unreferenced = (milliseconds: number): Promise<void> => delay(milliseconds, undefined, { ref: false });

interface OpenVersionOptions extends OpenIssuersOptions {
  /** The keys of the previous configuration's issuers, by their sources. */
  readonly previous: ReadonlyMap<string, IssuerKeys>;
}

function openVersion(
  { trusted, anonymous }: ParsedConfiguration,
  { previous, names, clock, log, apiAudiences, fetch = fetchDocument, pause = unreferenced }: OpenVersionOptions,
): OpenedVersion {
  const keys = new Map<string, IssuerKeys>();
  const issuers = trusted.map(({ issuer, mapping }) => {
    const source = sourceOf(issuer);
    const own =
      previous.get(source) ??
      new IssuerKeys({ issuer, fetch, clock, pause, log, previous: sameAddress(issuer, previous) });
    keys.set(source, own);
    return { issuer, mapping, keys: own };
  });
  for (const [source, old] of previous) if (!keys.has(source)) old.close();
  const urls = issuers.map(({ issuer }) => issuer.url);
  return { issuers: urls, keys, anonymous, verify: issuedTokens({ issuers, names, apiAudiences, clock }) };
}

/** The previous keys of an issuer of which only the CAs were changed. */
const sameAddress = ({ url, discoveryUrl }: Issuer, previous: OpenVersionOptions["previous"]): IssuerKeys | undefined =>
  [...previous.values()].find(({ issuer }) => issuer.url === url && issuer.discoveryUrl === discoveryUrl);

/** The settings on which an issuer's keys depend, as one text. */
const sourceOf = ({ url, discoveryUrl, certificateAuthority }: Issuer): string =>
  JSON.stringify([url, discoveryUrl, certificateAuthority]);
