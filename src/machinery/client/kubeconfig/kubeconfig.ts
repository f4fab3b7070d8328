import { createPrivateKey, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { homedir } from "node:os";
import { createSecureContext } from "node:tls";
import { parseYaml, yamlContentFault, yamlPlace } from "../../api/json/parse-yaml.ts";
import { messageOf } from "../../api/thrown-error.ts";
import { isJsonObject, jsonFields } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import type { HttpsTransportOptions } from "../https/https-transport.ts";
import { nonEmpty, pemFilesOf, pemOf } from "./kubeconfig-entry.ts";
import type { KubeconfigEntry } from "./kubeconfig-entry.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { readConfig } from "./kubeconfig-files.ts";
import { actingUserOf, checkLogin, credentialsOf } from "./kubeconfig-user.ts";
import { isProxyUrl, knowsProxies } from "../https/proxy-agent.ts";
import { serverUrlFault } from "../server-url-fault.ts";
import { actingHeaders } from "./acting-headers.ts";

export interface KubeconfigSelection {
  /** Default: the files of `$KUBECONFIG`, merged as kubectl merges them, else `~/.kube/config`. */
  readonly file?: string | undefined;
  readonly context?: string | undefined;
  /** The caller has a token of its own: the user's credentials need not be usable. */
  readonly isTokenGiven?: boolean;
  /**
   * Whether the file is read again while other work waits. A pipe is refused then, because it may never end. A damaged CA is refused too,
   * because its file may be half written: the caller keeps using what it has read before.
   */
  readonly isFollowed?: boolean;
  /**
   * Whether the user has the flags --kubeconfig, --context and --token, so that messages may name them. Default: true. False for
   * a file that a setting names, whose name the caller puts before the message.
   */
  readonly hasFlags?: boolean;
}

/** Server, credentials and namespace of one kubeconfig context. */
export interface KubeconfigContext {
  readonly transport: HttpsTransportOptions;
  readonly namespace: string;
  /** The kubeconfigs, and the PEM files that they name. */
  readonly files: readonly string[];
}

/** Reads a context like kubectl does. Relative file names are relative to the kubeconfig. Throws KubeconfigError. */
export function readKubeconfig(selection: KubeconfigSelection = {}): KubeconfigContext {
  const { file, context, isTokenGiven = false, isFollowed = false, hasFlags = true } = selection;
  const paths = file === undefined ? defaultFiles() : [file];
  const sources = paths.map((path) => ({ path, yaml: readConfig(path, { isPipeRefused: isFollowed, hasFlags }) }));
  const read = contextOf(
    sources.map(({ path, yaml }) => parseSource(yaml, path)),
    { context, isTokenGiven, hasFlags },
  );
  checkCertificates(read, { paths, isFollowed });
  return read;
}

/** A PEM block that begins and does not end. */
const unfinishedPem = /-----BEGIN (?![^]*-----END [^-\n]+-----)/;

function checkCertificates(
  { transport }: KubeconfigContext,
  { paths, isFollowed }: { readonly paths: readonly string[]; readonly isFollowed: boolean },
): void {
  const { caCertificates: authorities, clientCertificate: pair } = transport;
  const check = (advice: string, use: () => unknown): void => {
    try {
      use();
    } catch (cause) {
      throw new KubeconfigError(`kubeconfig ${paths.join(":")}: ${advice}: ${messageOf(cause)}`, { cause });
    }
  };
  // TLS ignores a damaged CA, and the last of several CAs if it breaks off.
  if (authorities !== undefined && isFollowed) {
    check("the certificate of the cluster's CA cannot be read; write it again", () => {
      if (unfinishedPem.test(authorities)) throw new Error("it breaks off");
      return new X509Certificate(authorities);
    });
  }
  if (pair !== undefined) {
    check("the user's client certificate and key cannot be used; write those of one pair", () => {
      createSecureContext({ cert: pair.certificate, key: pair.key, ca: [] });
      // With a key of another type, TLS omits certificate and key: the user would be anonymous.
      const isOfPair = new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
      if (!isOfPair) throw new Error("key values mismatch");
    });
  }
}

/** The files of `$KUBECONFIG` that exist or may exist, such as a file in a folder of another user. */
function defaultFiles(): string[] {
  const listed = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((one) => one !== "");
  const files = listed.length > 0 ? listed : ownFiles();
  const existing = files.filter((one) => !isMissing(one));
  if (existing.length > 0) return existing;
  throw new KubeconfigError(
    `there is no kubeconfig: ${files.length > 0 ? `${files.join(", ")} does not exist` : "this user has no home"}; name one with --kubeconfig or $KUBECONFIG (signet serve ` +
      "writes admin.kubeconfig in its data directory)",
  );
}

function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false; // reading the file will report why it fails
  }
}

/** The file in the user's home. Empty if the user has no home, as in a container whose user has no name. */
function ownFiles(): string[] {
  try {
    return [join(homedir(), ".kube", "config")];
  } catch {
    return [];
  }
}

/** One kubeconfig: its fields, and the path that errors name and that relative file names start from. */
interface Source {
  readonly path: string;
  readonly fields: Readonly<JsonObject>;
}

/** Parses a kubeconfig, also aliases and `<<`, as kubectl does. Throws KubeconfigError for a text that is not YAML, or not an object. */
export function parseSource(yaml: string, path: string): Source {
  let parsed: unknown;
  try {
    parsed = parseYaml(yaml);
  } catch (cause) {
    const fault = yamlContentFault(cause) ?? `is not YAML${yamlPlace(cause)}; correct it, or name another`;
    throw new KubeconfigError(`kubeconfig ${path} ${fault}`, { cause });
  }
  if (parsed !== null && !isJsonObject(parsed)) {
    throw new KubeconfigError(`kubeconfig ${path} holds no clusters, users and contexts; name another file`);
  }
  return { path, fields: jsonFields(parsed) };
}

/** The entries of one of the lists `clusters`, `users` and `contexts`. */
export const entriesOf = (fields: Readonly<JsonObject>, list: string): Readonly<JsonObject>[] =>
  Array.isArray(fields[list]) ? fields[list].map(jsonFields) : [];

/** Throws if two entries of one file have the same name, because it is not known which of them is meant. Upstream refuses them too. */
function refuseSameNames({ path, fields }: Source): void {
  for (const list of ["clusters", "users", "contexts"]) {
    const seen = new Set<unknown>();
    const repeated = entriesOf(fields, list).find(({ name }) => seen.size === seen.add(name).size);
    if (repeated === undefined) continue;
    throw new KubeconfigError(
      `kubeconfig ${path} has several ${list} named ${JSON.stringify(repeated["name"])}; remove all but one`,
    );
  }
}

/** Parses the text of one kubeconfig. */
export const parseKubeconfig = (
  yaml: string,
  { path, context }: { readonly path: string; readonly context?: string },
): KubeconfigContext => contextOf([parseSource(yaml, path)], { context });

/** A context of several kubeconfigs. The first file that has an entry, or that names the current context, wins. */
function contextOf(
  sources: readonly Source[],
  {
    context,
    isTokenGiven = false,
    hasFlags = true,
  }: Pick<KubeconfigSelection, "context" | "isTokenGiven" | "hasFlags">,
): KubeconfigContext {
  for (const source of sources) refuseSameNames(source);
  const where = `kubeconfig ${sources.map(({ path }) => path).join(":")}`;
  const entries = (list: string): (KubeconfigEntry & { readonly name: unknown })[] =>
    sources.flatMap(({ path, fields }) =>
      entriesOf(fields, list).map((one) => ({ name: one["name"], path, fields: jsonFields(one[list.slice(0, -1)]) })),
    );
  const named = (list: string, name: string): KubeconfigEntry => {
    const found = entries(list).find((one) => one.name === name);
    if (found !== undefined) return found;
    const others = entries(list).map((one) => String(one.name));
    const hint = others.length === 0 ? "it has none" : `it has ${others.slice(0, 10).join(", ")}`;
    throw new KubeconfigError(`${where} has no ${list.slice(0, -1)} ${JSON.stringify(name)}; ${hint}`);
  };
  const current = sources.map(({ fields }) => nonEmpty(fields["current-context"])).find((one) => one !== undefined);
  const contextName = context ?? current;
  if (contextName === undefined) {
    if (entries("contexts").length === 0) throw new KubeconfigError(`${where} has no contexts; name another file`);
    throw new KubeconfigError(
      `${where} has no current-context; ${hasFlags ? "choose one with --context" : "write one there"}`,
    );
  }
  const chosen = named("contexts", contextName).fields;
  const cluster = named("clusters", nonEmpty(chosen["cluster"]) ?? "");
  const userName = nonEmpty(chosen["user"]);
  const user = userName === undefined ? { path: cluster.path, fields: {} } : named("users", userName);
  const who = `${where}: user ${JSON.stringify(userName)}`;
  if (!isTokenGiven) checkLogin(user, { who, hasFlags });
  const actsAs = actingUserOf(user, who);
  return {
    namespace: nonEmpty(chosen["namespace"]) ?? "default",
    files: [
      ...sources.map(({ path }) => path),
      ...pemFilesOf(cluster, ["certificate-authority"]),
      ...pemFilesOf(user, ["client-certificate", "client-key"]),
    ],
    transport: {
      ...serverOf(cluster, where),
      ...(!isTokenGiven && credentialsOf(user)),
      ...(actsAs !== undefined && { headers: actingHeaders(actsAs) }),
    },
  };
}

function serverOf(cluster: KubeconfigEntry, where: string): HttpsTransportOptions {
  const server = nonEmpty(cluster.fields["server"]);
  if (server === undefined) throw new KubeconfigError(`${where}: the cluster has no server; write its URL there`);
  const fault = serverUrlFault(server);
  if (fault !== undefined) throw new KubeconfigError(`${where}: the server ${fault}`);
  const caCertificates = pemOf(cluster, "certificate-authority");
  const skipsServerVerification = cluster.fields["insecure-skip-tls-verify"] === true;
  // Upstream's clients refuse this too: a user who names a CA wants the server to be verified.
  if (caCertificates !== undefined && skipsServerVerification) {
    throw new KubeconfigError(
      `${where}: the cluster has a certificate-authority, but insecure-skip-tls-verify: true leaves the server unverified; remove one of them`,
    );
  }
  const serverName = nonEmpty(cluster.fields["tls-server-name"]);
  return {
    server,
    ...(caCertificates !== undefined && { caCertificates }),
    ...(serverName !== undefined && { serverName }),
    ...(skipsServerVerification && { skipsServerVerification }),
    ...proxyOf(cluster, where),
  };
}

/** The proxy of a cluster. Throws for a proxy that cannot be used: the proxy may be there to prevent direct connections. */
function proxyOf({ fields }: KubeconfigEntry, where: string): Pick<HttpsTransportOptions, "proxyUrl"> {
  const proxyUrl = nonEmpty(fields["proxy-url"]);
  if (proxyUrl === undefined) return {};
  // The URL may have a password in it.
  if (!isProxyUrl(proxyUrl)) {
    throw new KubeconfigError(
      `${where}: the cluster's proxy-url does not begin with http:// or https://; name such a proxy, or remove it`,
    );
  }
  if (!knowsProxies) {
    throw new KubeconfigError(
      `${where}: the cluster's proxy-url needs Node.js 24.5 or later, and this is ${process.version}; run signet with a later one`,
    );
  }
  return { proxyUrl };
}
