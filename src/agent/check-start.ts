import { statSync } from "node:fs";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import type { Log } from "../machinery/logging/log.ts";
import type { AgentContext } from "./agent-parts.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { storedFiles } from "./certificates/certificate-store.ts";
import { certificatesFolder } from "./certificates/managed-certificate.ts";
import type { NodeIdentity } from "./connection/node-identity.ts";

/**
 * Throws UsageError when the agent has no credential and would never get one. Warns of another node's certificate, of a token file that
 * other users can read, and of certificates that the settings do not name. Such a token is not refused, because service managers and
 * containers choose the modes of the files that they mount.
 */
export function checkStart(identity: NodeIdentity, { settings, log }: Pick<AgentContext, "settings" | "log">): void {
  const { bootstrap } = settings;
  // A token may still be written to the file.
  if (bootstrap.type === "none" && identity.requestClient() === undefined) {
    throw new UsageError(identity.missingCredential);
  }
  if (bootstrap.type === "token file" && isOpenToAll(bootstrap.source)) {
    log.warn({}, `every user may read ${bootstrap.source}, the file of the bootstrap token; chmod 600 it`);
  }
  if (identity.foreignCertificate !== undefined) {
    log.warn(
      {},
      `${identity.foreignCertificate}: this node's own takes its place; if that is wrong, stop the agent, and name the node with --node-name, or its folder with --data-dir`,
    );
  }
  warnOfOthers(settings, log);
}

/**
 * Warns of certificates that were removed from the settings. Their files stay until somebody removes them, because a program may still use
 * them.
 */
function warnOfOthers(settings: AgentSettings, log: Log): void {
  const folder = certificatesFolder(settings);
  const known = new Set(["client", "serving", ...settings.certificates.map(({ name }) => name)]);
  for (const [certificate, files] of storedFiles(folder)) {
    if (known.has(certificate)) continue;
    log.warn(
      { certificate, folder, files },
      "the settings do not name this certificate any more: it is not renewed, and its files stay; remove them, and those that were written from them, once nothing uses them",
    );
  }
}

function isOpenToAll(file: string): boolean {
  try {
    return (statSync(file).mode & 0o004) !== 0;
  } catch {
    return false; // The file may come later. The code that reads the token says why it cannot be read.
  }
}
