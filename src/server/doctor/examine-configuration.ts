import pino from "pino";
import { Registry } from "prom-client";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { connectAuthorization } from "../../features/authorization/feature.ts";
import { openConfiguredAuthorities } from "../../features/access/feature.ts";
import { parseTokenFile } from "../../features/access/credentials/static-token-file.ts";
import { followOperatorKeys } from "../../features/accounts/keys/operator-keys.ts";
import { openApprovalPolicy } from "../../features/certificates/policy/approval-policy.ts";
import { parseSignerConfiguration } from "../../features/certificates/signers/parse-signer-configuration.ts";
import { parseAuthenticationConfiguration } from "../../features/federation/oidc/parse-authentication-configuration.ts";
import { systemClock } from "../../machinery/api/clock.ts";
import { readChainKey } from "../../machinery/audit/chain/chain-key.ts";
import { parseAuditPolicy } from "../../machinery/audit/audit-policy.ts";
import { isLoopback } from "../../machinery/api/addresses/is-loopback.ts";
import { readKubeconfig } from "../../machinery/client/kubeconfig/kubeconfig.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { Log } from "../../machinery/logging/log.ts";
import { parseEncryptionConfiguration } from "../encryption/encryption-configuration.ts";
import { readEncryptionKeys } from "../encryption/encryption-key-file.ts";
import { authorizationObserver } from "../observation/authorization-observer.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { parseAuthorizationConfiguration } from "../../features/authorization/parse-authorization-configuration.ts";
import type { AuthorizationSettings, ConfiguredAuthorizer } from "../../features/authorization/settings.ts";

const subject = "configuration";

/** Reads and checks the files of some settings as the server does at its start, but opens nothing. */
interface Check {
  readonly settings: readonly string[];
  readonly run: () => unknown;
}

/** Reads the files that settings name with the server's own parsers. Each finding names the file and the field. */
export async function examineConfiguration(config: ServerConfig): Promise<Finding[]> {
  const findings: Finding[] = [];
  const usable: string[] = [];
  for (const { settings, run } of checksOf(config)) {
    try {
      await run();
      usable.push(...settings.map((setting) => `--${setting}`));
    } catch (error) {
      const message = messageOf(error);
      const found = message.startsWith("--") ? message : `--${settings[0]}: ${message}`;
      findings.push(
        bad(subject, {
          found,
          advice: "correct it; a server that runs continues with what it has, and does not start again",
        }),
      );
    }
  }
  return usable.length === 0 ? findings : [...findings, good(subject, `the files of ${usable.join(", ")} can be used`)];
}

/** Whether a finding is about the file of a setting whose name begins with `setting`. */
export const isFaultOf = (setting: string, findings: readonly Finding[]): boolean =>
  findings.some(({ state, found }) => state === "bad" && found.startsWith(`--${setting}`));

function checksOf(config: ServerConfig): Check[] {
  const { access, accounts, audit, authorization, controllers, dataDirectory, encryption, federation, names } = config;
  const { approvalPolicyFile, signerConfigurationFile } = controllers.certificates;
  const { issuers, webhook } = federation;
  const { verificationKeyFiles } = accounts;
  const signingKey = "file" in accounts.signingKey ? accounts.signingKey.file : undefined;
  const log = pino({ level: "silent" });
  const followed = new FollowedFiles({ log });
  return [
    ...(authorization.type === "built in" ? [] : [authorizationCheck(authorization, { log, followed })]),
    ...parsing(
      { setting: "authentication-config", file: issuers?.type === "file" ? issuers.file : undefined },
      (text) => parseAuthenticationConfiguration(text, { names, ownIssuers: accounts.issuers }),
    ),
    ...checking({ "authentication-token-webhook-config-file": webhook?.file }, readWebhookKubeconfig),
    ...checking(
      { "client-ca-file": access.clientAuthorityFile, "requestheader-client-ca-file": access.frontProxy.authorityFile },
      () => openConfiguredAuthorities(access, followed),
    ),
    ...parsing({ setting: "token-auth-file", file: access.tokenFile }, parseTokenFile),
    ...checking(
      { "service-account-signing-key-file": signingKey, "service-account-key-file": verificationKeyFiles[0] },
      () => followOperatorKeys({ signingKey, verificationKeyFiles }, { followed, log }),
    ),
    ...parsing({ setting: "audit-policy-file", file: audit?.policyFile }, (text) => parseAuditPolicy(text, names)),
    ...checking({ "audit-webhook-config-file": audit?.webhook?.file }, readWebhookKubeconfig),
    ...checking({ "audit-log-chain-key-file": audit?.log?.chain?.keyFile }, readChainKey),
    ...parsing(
      { setting: "encryption-provider-config", file: encryption.configuration?.file },
      parseEncryptionConfiguration,
    ),
    ...checking({ "encryption-key-file": encryption.keyFile }, () => readEncryptionKeys(encryption, dataDirectory)),
    ...checking({ "approval-policy": approvalPolicyFile }, (file) => openApprovalPolicy(file, followed)),
    ...parsing({ setting: "signer-config", file: signerConfigurationFile }, parseSignerConfiguration),
  ];
}

/** The files of settings that belong together, by the settings' names. Undefined: the setting names none. */
type Files = Readonly<Record<string, string | undefined>>;

/** A check that gets the first of the files. Empty when no setting names a file. */
function checking(files: Files, run: (file: string) => unknown): Check[] {
  const given = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const [first] = given;
  return first === undefined ? [] : [{ settings: given.map(([setting]) => setting), run: () => run(first[1]) }];
}

/** A check that parses the text of a file. The parser also gets the file's name. */
const parsing = (
  { setting, file }: { readonly setting: string; readonly file: string | undefined },
  parse: (text: string, file: string) => unknown,
): Check[] =>
  checking({ [setting]: file }, (name) =>
    parseSettingsFile({ flag: setting, file: name, read: readFollowedFile }, (text) => parse(text, name)),
  );

const readWebhookKubeconfig = (file: string): unknown => readKubeconfig({ file, isFollowed: true, hasFlags: false });

const authorizationCheck = (
  settings: Exclude<AuthorizationSettings, { readonly type: "built in" }>,
  opening: { readonly log: Log; readonly followed: FollowedFiles },
): Check => ({
  settings: [settings.type === "file" ? "authorization-config" : "authorization-webhook-config-file"],
  async run() {
    const observer = authorizationObserver(new Registry(), systemClock);
    (await connectAuthorization({ ...opening, settings, clock: systemClock, maximumPending: 1, observer })).close();
  },
});

/** Examines settings that are meant for development, or that open more than usual. */
export function examineSettings({ access, authorization, listener, storage, audit }: ServerConfig): Finding[] {
  const subject = "settings";
  const findings: Finding[] = [];
  const isPublic = !isLoopback(listener.host);
  if (authorizersOf(authorization).some(({ type }) => type === "AlwaysAllow")) {
    const where =
      authorization.type === "file"
        ? `--authorization-config: ${authorization.file} has an authorizer AlwaysAllow`
        : "--authorization-mode AlwaysAllow";
    findings.push(
      warning(subject, { found: `${where}: every user who logs in may do everything`, advice: "use Node and RBAC" }),
    );
  }
  if (access.tokenFile !== undefined) {
    const advice = "use certificates or service accounts; such tokens never end";
    findings.push(warning(subject, { found: "--token-auth-file: static tokens are in use", advice }));
  }
  if (isPublic && audit === undefined) {
    findings.push(
      warning(subject, { found: "the server is on a network and has no audit log", advice: "give --audit-log-path" }),
    );
  }
  if (storage.type === "etcd" && storage.servers.some((server) => server.startsWith("http:"))) {
    const advice = "use https:// and client certificates: who reaches etcd has everything";
    findings.push(warning(subject, { found: "--etcd-servers: etcd is used without TLS", advice }));
  }
  return findings.length > 0 ? findings : [good(subject, "no setting is unsafe")];
}

/** The configured authorizers. Empty for a file that can't be used, which `examineConfiguration` reports. */
function authorizersOf(settings: AuthorizationSettings): readonly Pick<ConfiguredAuthorizer, "type">[] {
  if (settings.type !== "file") return settings.authorizers;
  try {
    return parseSettingsFile(
      { flag: "authorization-config", file: settings.file, read: readFollowedFile },
      parseAuthorizationConfiguration,
    );
  } catch {
    return [];
  }
}
