import type { ServerConfig } from "../server-config.ts";
import { good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

const loopback = /^(?:127\.|::1$|localhost$)/;

/** Settings that are meant for development, or that open more than is usual. */
export function examineSettings({ access, authorization, listener, storage, audit }: ServerConfig): Finding[] {
  const subject = "settings";
  const findings: Finding[] = [];
  const isPublic = !loopback.test(listener.host);
  if (authorization.type !== "file" && authorization.authorizers.some(({ type }) => type === "AlwaysAllow")) {
    findings.push(
      warning(subject, "--authorization-mode AlwaysAllow: everybody who logs in may do everything", "use Node,RBAC"),
    );
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
