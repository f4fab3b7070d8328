import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { homedir } from "node:os";
import { parse, stringify } from "yaml";
import type { HttpsTransportOptions } from "./https-transport.ts";

/** A kubeconfig cannot be used. The message is one line that names the file. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
  }
}

export interface KubeconfigSelection {
  /** Default: the first existing file of `$KUBECONFIG`, else `~/.kube/config`. */
  readonly file?: string;
  readonly context?: string;
}

/** Server, credentials and namespace of one kubeconfig context. */
export interface KubeconfigContext {
  readonly transport: HttpsTransportOptions;
  readonly namespace: string;
}

/** Reads a context like kubectl does. Relative file names are relative to the kubeconfig. Throws KubeconfigError. */
export function readKubeconfig({ file, context }: KubeconfigSelection = {}): KubeconfigContext {
  const path = file ?? defaultFile();
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new KubeconfigError(`cannot read kubeconfig ${path}`, { cause });
  }
  return parseKubeconfig(text, { path, ...(context !== undefined && { context }) });
}

function defaultFile(): string {
  const listed = process.env["KUBECONFIG"]?.split(":").filter((one) => one !== "")[0];
  return listed ?? join(homedir(), ".kube", "config");
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** Parses the text of a kubeconfig. `path` appears in errors and is the base of relative file names. */
export function parseKubeconfig(
  yaml: string,
  { path, context }: { readonly path: string; readonly context?: string },
): KubeconfigContext {
  let config: Fields;
  try {
    config = fieldsOf(parse(yaml, { maxAliasCount: 0 }));
  } catch (cause) {
    throw new KubeconfigError(`kubeconfig ${path} is not YAML`, { cause });
  }
  const named = (list: string, name: string, entry: string): Fields => {
    const entries = Array.isArray(config[list]) ? (config[list] as unknown[]) : [];
    const found = entries.map(fieldsOf).find((one) => one["name"] === name);
    if (found === undefined) throw new KubeconfigError(`kubeconfig ${path} has no ${entry} ${JSON.stringify(name)}`);
    return fieldsOf(found[entry]);
  };
  const contextName = context ?? text(config["current-context"]);
  if (contextName === undefined) throw new KubeconfigError(`kubeconfig ${path} has no current-context`);
  const chosen = named("contexts", contextName, "context");
  const cluster = named("clusters", text(chosen["cluster"]) ?? "", "cluster");
  const user = text(chosen["user"]) === undefined ? {} : named("users", text(chosen["user"]) ?? "", "user");
  const server = text(cluster["server"]);
  if (server === undefined) throw new KubeconfigError(`kubeconfig ${path}: the cluster has no server`);

  const embedded = (fields: Fields, key: string): string | undefined => {
    const data = text(fields[`${key}-data`]);
    if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
    const name = text(fields[key]);
    if (name === undefined) return undefined;
    return readFile(isAbsolute(name) ? name : join(dirname(path), name), path);
  };
  const caCertificates = embedded(cluster, "certificate-authority");
  const certificate = embedded(user, "client-certificate");
  const key = embedded(user, "client-key");
  const serverName = text(cluster["tls-server-name"]);
  const token = text(user["token"]);
  const tokenFile = text(user["tokenFile"]);
  return {
    namespace: text(chosen["namespace"]) ?? "default",
    transport: {
      server,
      ...(caCertificates !== undefined && { caCertificates }),
      ...(serverName !== undefined && { serverName }),
      ...(cluster["insecure-skip-tls-verify"] === true && { skipsServerVerification: true }),
      ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
      ...(tokenFile !== undefined
        ? {
            bearerToken: () =>
              readFile(isAbsolute(tokenFile) ? tokenFile : join(dirname(path), tokenFile), path).trim(),
          }
        : token !== undefined && { bearerToken: () => token }),
    },
  };
}

function readFile(file: string, kubeconfig: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new KubeconfigError(`kubeconfig ${kubeconfig} names ${file}, which cannot be read`, { cause });
  }
}

/** The content of a kubeconfig with one cluster, one user and one context. PEM texts are embedded. */
export interface KubeconfigContents {
  readonly server: string;
  readonly caCertificates: string;
  readonly user: string;
  readonly namespace?: string;
  readonly credentials:
    | { readonly type: "certificate"; readonly certificate: string; readonly key: string }
    | { readonly type: "token"; readonly token: string };
}

/** Formats a kubeconfig that kubectl and every client library can read. */
export function formatKubeconfig({ server, caCertificates, user, namespace, credentials }: KubeconfigContents): string {
  const base64 = (pem: string): string => Buffer.from(pem, "utf8").toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "signet", cluster: { server, "certificate-authority-data": base64(caCertificates) } }],
    users: [
      {
        name: user,
        user:
          credentials.type === "token"
            ? { token: credentials.token }
            : {
                "client-certificate-data": base64(credentials.certificate),
                "client-key-data": base64(credentials.key),
              },
      },
    ],
    contexts: [{ name: "signet", context: { cluster: "signet", user, ...(namespace !== undefined && { namespace }) } }],
    "current-context": "signet",
  });
}
