import { parseAuthorizationConfiguration } from "../../features/authorization/parse-authorization-configuration.ts";
import type { AuthorizationSettings, ConfiguredAuthorizer } from "../../features/authorization/settings.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings-files.ts";
import type { ServerConfig } from "../server-config.ts";
import { good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

const loopback = /^(?:127\.|::1$|localhost$)/;

/** Settings that are meant for development, or that open more than is usual. */
export function examineSettings({ access, authorization, listener, storage, audit }: ServerConfig): Finding[] {
  const subject = "settings";
  const findings: Finding[] = [];
  const isPublic = !loopback.test(listener.host);
  if (authorizersOf(authorization).some(({ type }) => type === "AlwaysAllow")) {
    const where =
      authorization.type === "file"
        ? `--authorization-config: ${authorization.file} has an authorizer AlwaysAllow`
        : "--authorization-mode AlwaysAllow";
    findings.push(warning(subject, `${where}: every user who logs in may do everything`, "use Node and RBAC"));
  }
  if (access.tokenFile !== undefined) {
    const advice = "use certificates or service accounts; such tokens never end";
    findings.push(warning(subject, "--token-auth-file: static tokens are in use", advice));
  }
  if (isPublic && audit === undefined) {
    findings.push(warning(subject, "the server is on a network and has no audit log", "give --audit-log-path"));
  }
  if (storage.type === "etcd" && storage.servers.some((server) => server.startsWith("http:"))) {
    const advice = "use https:// and client certificates: who reaches etcd has everything";
    findings.push(warning(subject, "--etcd-servers: etcd is used without TLS", advice));
  }
  return findings.length > 0 ? findings : [good(subject, "no setting is unsafe")];
}

/** None for a file that can't be used: the look at the configuration says why. */
function authorizersOf(settings: AuthorizationSettings): readonly Pick<ConfiguredAuthorizer, "type">[] {
  if (settings.type !== "file") return settings.authorizers;
  try {
    return parseSettingsFile("authorization-config", settings.file, parseAuthorizationConfiguration, readFollowedFile);
  } catch {
    return [];
  }
}
