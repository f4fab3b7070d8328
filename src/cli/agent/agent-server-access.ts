import type { BootstrapCredential, ServerAccess } from "../../agent/agent-settings.ts";
import type { HttpsTransportOptions } from "../../machinery/client/https/https-transport.ts";
import type { KubeconfigContext } from "../../machinery/client/kubeconfig/kubeconfig.ts";
import { serverUrlFault } from "../../machinery/client/server-url-fault.ts";
import { isTokenText } from "../../machinery/client/is-token-text.ts";
import { parsePrivateKeyPem } from "../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { readFollowedFile, readSettingsFile } from "../../machinery/command-line/settings/settings-files.ts";
import { readSettingsKubeconfig } from "../../machinery/command-line/settings/settings-kubeconfig.ts";
import { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";

/** How an agent reaches its server, and the credentials of its first request. */
export interface ServerAccessFlags {
  readonly server: readonly string[];
  readonly caFile?: string;
  readonly kubeconfig?: string;
  readonly bootstrapToken?: string;
  readonly bootstrapTokenFile?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
}

/** Reads the server, its CA and the credentials from the flags, or from the kubeconfig where there is no flag. Throws UsageError. */
export function serverAccess(flags: ServerAccessFlags): ServerAccess {
  const { kubeconfig } = flags;
  const { transport, files = [] } = kubeconfig === undefined ? {} : contextOf(kubeconfig);
  const servers = flags.server.length > 0 ? flags.server : transport === undefined ? [] : [transport.server];
  if (servers.length === 0) throw new UsageError("name a server: --server, or --kubeconfig");
  const [fault] = servers.flatMap((server) => serverUrlFault(server) ?? []);
  if (fault !== undefined) throw new UsageError(`--server: ${fault}`);
  const { caFile, clientCertificate, clientKey } = flags;
  return {
    servers,
    caCertificates: caFile === undefined ? () => transport?.caCertificates : rereadCaFile(caFile),
    ...(caFile !== undefined
      ? { caSource: "--ca-file" as const }
      : transport !== undefined && { caSource: "the kubeconfig" as const }),
    ...(transport?.serverName !== undefined && { serverName: transport.serverName }),
    ...(transport?.proxyUrl !== undefined && { proxyUrl: transport.proxyUrl }),
    followedFiles: [...files, ...[clientCertificate, clientKey].filter((file) => file !== undefined)],
    bootstrap: bootstrapCredential(flags, transport),
  };
}

/** Reads the current context: the agent has the flag --kubeconfig, but neither --context nor --token. */
function contextOf(file: string): Partial<KubeconfigContext> {
  const context = readSettingsKubeconfig("kubeconfig", file);
  if (context.transport.headers === undefined) return context;
  throw new UsageError(
    `--kubeconfig: kubeconfig ${file}: its user acts as another one, which no agent can; remove "as"`,
  );
}

function bootstrapCredential(
  flags: ServerAccessFlags,
  transport: HttpsTransportOptions | undefined,
): BootstrapCredential {
  const { bootstrapToken, bootstrapTokenFile, clientCertificate, clientKey } = flags;
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new UsageError("--client-certificate and --client-key go together");
  }
  const given = [bootstrapToken, bootstrapTokenFile, clientCertificate].filter((one) => one !== undefined);
  if (given.length > 1) {
    throw new UsageError("name one of --bootstrap-token, --bootstrap-token-file and --client-certificate");
  }
  if (bootstrapToken !== undefined) {
    if (!isTokenText(bootstrapToken)) {
      throw new UsageError(
        "--bootstrap-token: no token is empty or has spaces, line breaks or letters beyond ASCII; give only the token",
      );
    }
    return { type: "token", source: "--bootstrap-token", token: () => bootstrapToken };
  }
  if (bootstrapTokenFile !== undefined) {
    return { type: "token file", source: bootstrapTokenFile, token: () => readToken(bootstrapTokenFile) };
  }
  if (clientCertificate !== undefined && clientKey !== undefined) {
    return {
      type: "certificate",
      source: clientCertificate,
      certificate: readPem({ flag: "client-certificate", file: clientCertificate }, (pem) => parseCertificatesPem(pem)),
      key: readPem({ flag: "client-key", file: clientKey }, parsePrivateKeyPem),
    };
  }
  const source = flags.kubeconfig ?? "";
  if (transport?.bearerToken !== undefined) return { type: "token", source, token: transport.bearerToken };
  if (transport?.clientCertificate !== undefined) {
    return { type: "certificate", source, ...transport.clientCertificate };
  }
  return { type: "none" };
}

/** Reads the token. The file may appear, change and disappear while the agent runs. */
function readToken(file: string): string | undefined {
  try {
    const token = readFollowedFile("bootstrap-token-file", file).trim();
    return isTokenText(token) ? token : undefined;
  } catch {
    return undefined;
  }
}

function readPem(
  { flag, file }: { readonly flag: string; readonly file: string },
  parse: (pem: string) => unknown,
): string {
  const pem = readSettingsFile(flag, file);
  const parsed = orPkiError(() => parse(pem));
  if (parsed instanceof PkiError) throw new UsageError(`--${flag}: ${file}: ${parsed.message}`, { cause: parsed });
  return pem;
}

/**
 * Returns a function that returns a CA file's contents, read again after each change. Throws UsageError when the file can't be read at
 * first, or holds no certificate.
 */
function rereadCaFile(file: string): () => string {
  // While the file is being replaced, the previous contents are used, without a log line.
  const followed = new FollowedFiles({ log: { info: () => {}, error: () => {} } });
  const current = followed.follow({
    setting: "ca-file",
    files: () => [file],
    load: () =>
      readPem({ flag: "ca-file", file }, (text) => {
        if (parseCertificatesPem(text).length === 0)
          throw new PkiError("it holds no certificate; name a PEM file of certificates");
      }),
  });
  return () => {
    followed.refresh({ isForced: false });
    return current();
  };
}
