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
import { isLoopback } from "../../machinery/api/is-loopback.ts";
import { readKubeconfig } from "../../machinery/client/kubeconfig.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings-files.ts";
import { FollowedFiles } from "../../machinery/files/followed-files.ts";
import { parseEncryptionConfiguration } from "../encryption/encryption-configuration.ts";
import { readEncryptionKeys } from "../encryption/encryption-key-file.ts";
import { authorizationObserver } from "../observation/authorization-observer.ts";
import type { ServerConfig } from "../server-config.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { parseAuthorizationConfiguration } from "../../features/authorization/parse-authorization-configuration.ts";
import type { AuthorizationSettings, ConfiguredAuthorizer } from "../../features/authorization/settings.ts";

const subject = "configuration";

/** Reads and checks the file of a setting as the server's start does, and opens nothing. Undefined: there is no such file. */
type Check = (() => unknown) | undefined;

/** Reads the files that settings name with the server's own parsers. Each finding names the file and the field. */
export async function examineConfiguration(config: ServerConfig): Promise<Finding[]> {
  const findings: Finding[] = [];
  const sound: string[] = [];
  for (const [setting, check] of Object.entries(checksOf(config))) {
    if (check === undefined) continue;
    try {
      await check();
      sound.push(`--${setting}`);
    } catch (error) {
      const message = messageOf(error);
      const found = message.startsWith(`--${setting}`) ? message : `--${setting}: ${message}`;
      findings.push(
        bad(subject, {
          found,
          advice: "correct it; a server that runs goes on with what it has, and does not start again",
        }),
      );
    }
  }
  return sound.length === 0 ? findings : [...findings, good(subject, `the files of ${sound.join(", ")} can be used`)];
}

/** Whether the file of a setting, or of one that begins so, was found to be wrong. */
export const isFaultOf = (setting: string, findings: readonly Finding[]): boolean =>
  findings.some(({ state, found }) => state === "bad" && found.startsWith(`--${setting}`));

function checksOf(config: ServerConfig): Readonly<Record<string, Check>> {
  const { access, accounts, audit, authorization, controllers, dataDirectory, encryption, federation, names } = config;
  const { approvalPolicyFile, signerConfigurationFile } = controllers.certificates;
  const { issuers, webhook } = federation;
  const log = pino({ level: "silent" });
  const followed = new FollowedFiles({ log });
  const parse = (
    { setting, file }: { readonly setting: string; readonly file: string | undefined },
    parser: (text: string) => unknown,
  ): Check =>
    file === undefined ? undefined : () => parseSettingsFile({ flag: setting, file, read: readFollowedFile }, parser);
  const kubeconfig = (file: string | undefined): Check =>
    file === undefined ? undefined : () => readKubeconfig({ file, hasFlags: false });
  const chainKey = audit?.log?.chain?.keyFile;
  return {
    [authorization.type === "file" ? "authorization-config" : "authorization-webhook-config-file"]:
      authorization.type === "built in"
        ? undefined
        : async () => {
            const observer = authorizationObserver(new Registry(), systemClock);
            const opening = { settings: authorization, clock: systemClock, log, followed, maximumPending: 1, observer };
            (await connectAuthorization(opening)).close();
          },
    "authentication-config": parse(
      { setting: "authentication-config", file: issuers?.type === "file" ? issuers.file : undefined },
      (text) => parseAuthenticationConfiguration(text, { names, ownIssuers: accounts.issuers }),
    ),
    "authentication-token-webhook-config-file": kubeconfig(webhook?.file),
    "client-ca-file":
      access.clientAuthorityFile === undefined && access.frontProxy.authorityFile === undefined
        ? undefined
        : () => openConfiguredAuthorities(access, followed),
    "token-auth-file": parse({ setting: "token-auth-file", file: access.tokenFile }, parseTokenFile),
    "service-account-signing-key-file":
      "file" in accounts.signingKey || accounts.verificationKeyFiles.length > 0
        ? () =>
            followOperatorKeys(
              {
                signingKey: "file" in accounts.signingKey ? accounts.signingKey.file : undefined,
                verificationKeyFiles: accounts.verificationKeyFiles,
              },
              { followed, log },
            )
        : undefined,
    "audit-policy-file": parse({ setting: "audit-policy-file", file: audit?.policyFile }, (text) =>
      parseAuditPolicy(text, names),
    ),
    "audit-webhook-config-file": kubeconfig(audit?.webhook?.file),
    "audit-log-chain-key-file": chainKey === undefined ? undefined : () => readChainKey(chainKey),
    "encryption-provider-config": parse(
      { setting: "encryption-provider-config", file: encryption.configuration?.file },
      parseEncryptionConfiguration,
    ),
    "encryption-key-file":
      encryption.keyFile === undefined ? undefined : () => readEncryptionKeys(encryption, dataDirectory),
    "approval-policy":
      approvalPolicyFile === undefined ? undefined : () => openApprovalPolicy(approvalPolicyFile, followed),
    "signer-config": parse({ setting: "signer-config", file: signerConfigurationFile }, (text) =>
      parseSignerConfiguration(text, signerConfigurationFile ?? ""),
    ),
  };
}

/** Settings that are meant for development, or that open more than is usual. */
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

/** None for a file that can't be used: the look at the configuration says why. */
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
