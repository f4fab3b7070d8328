import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { homedir } from "node:os";
import { createSecureContext } from "node:tls";
import { parse, stringify } from "yaml";
import { errorCode, messageOf } from "../api/thrown-error.ts";
import { isJsonObject, jsonFields } from "../api/json-object.ts";
import type { HttpsTransportOptions } from "./https-transport.ts";
import { isTokenText } from "./is-token-text.ts";
import { knowsProxies } from "./proxy-agent.ts";
import { actingHeaders } from "./acting-headers.ts";
import type { ActingUser } from "./acting-headers.ts";

/** A kubeconfig cannot be used. The message is one line that names the file and what to do. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

export interface KubeconfigSelection {
  /** Default: the files of `$KUBECONFIG`, merged as kubectl merges them, else `~/.kube/config`. */
  readonly file?: string | undefined;
  readonly context?: string | undefined;
  /** The caller has a token of its own: the user's credentials need not be usable. */
  readonly isTokenGiven?: boolean;
  /**
   * The file is read again while others wait: a pipe, which may never end, is refused. So are a damaged CA, and a certificate and a key
   * that do not belong together, as while their files are being replaced: what was read before stays in use.
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
  const { file, context, isTokenGiven, isFollowed = false, hasFlags = true } = selection;
  const paths = file === undefined ? defaultFiles() : [file];
  const sources = paths.map((path) => ({ path, yaml: readConfig(path, { isPipeRefused: isFollowed, hasFlags }) }));
  const read = contextOf(
    sources.map(({ path, yaml }) => parseSource(yaml, path)),
    { context, isTokenGiven, hasFlags },
  );
  if (isFollowed) checkCertificates(read, paths);
  return read;
}

/** A block that begins after the last end of one. */
const unfinishedPem = /-----BEGIN (?![^]*-----END [^-\n]+-----)/;

function checkCertificates({ transport }: KubeconfigContext, paths: readonly string[]): void {
  const { caCertificates: authorities, clientCertificate: pair } = transport;
  const check = (advice: string, use: () => unknown): void => {
    try {
      use();
    } catch (cause) {
      throw new KubeconfigError(`kubeconfig ${paths.join(":")}: ${advice}: ${messageOf(cause)}`, { cause });
    }
  };
  // TLS itself passes over a damaged CA, and over one of several that breaks off.
  if (authorities !== undefined) {
    check("the certificate of the cluster's CA cannot be read; write it again", () => {
      if (unfinishedPem.test(authorities)) throw new Error("it breaks off");
      return new X509Certificate(authorities);
    });
  }
  if (pair !== undefined) {
    check("the user's client certificate and key cannot be used; write those of one pair", () =>
      createSecureContext({ cert: pair.certificate, key: pair.key, ca: [] }),
    );
  }
}

/** The files of `$KUBECONFIG` that exist. */
function defaultFiles(): string[] {
  const listed = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((one) => one !== "");
  const files = listed.length > 0 ? listed : ownFiles();
  const existing = files.filter((one) => statSync(one, { throwIfNoEntry: false }) !== undefined);
  if (existing.length > 0) return existing;
  throw new KubeconfigError(
    `there is no kubeconfig: ${files.length > 0 ? `${files.join(", ")} does not exist` : "this user has no home"}; name one with --kubeconfig or $KUBECONFIG (signet serve ` +
      "writes admin.kubeconfig in its data directory)",
  );
}

/** The file in the user's home; none where the user has no home, as in a container whose user has no name. */
function ownFiles(): string[] {
  try {
    return [join(homedir(), ".kube", "config")];
  } catch {
    return [];
  }
}

/** The largest file that is read. */
const largestBytes = 16 * 2 ** 20;

interface Reading {
  readonly isPipeRefused: boolean;
  readonly hasFlags: boolean;
}

function readConfig(path: string, { isPipeRefused, hasFlags }: Reading): string {
  try {
    // A device may never end. A pipe that is read once may be `<(command)`.
    const status = statSync(path);
    if (status.isDirectory()) throw new KubeconfigError(`kubeconfig ${path} is a folder; name a file`);
    if (isPipeRefused && status.isFIFO()) {
      throw new KubeconfigError(
        `kubeconfig ${path} is a pipe; it may be read again, so write it to a file and name that`,
      );
    }
    if (status.isCharacterDevice() || status.size > largestBytes) {
      throw new KubeconfigError(`kubeconfig ${path} is a device, or larger than 16 MiB; name a kubeconfig`);
    }
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof KubeconfigError) throw cause;
    throw new KubeconfigError(`cannot read kubeconfig ${path}: ${reasonFor(cause, { hasFlags })}`, { cause });
  }
}

function reasonFor(error: unknown, { hasFlags }: Pick<Reading, "hasFlags">): string {
  const another = hasFlags ? "name another with --kubeconfig" : "name another";
  switch (errorCode(error)) {
    case "ENOENT":
      return `there is no such file; ${another}`;
    case "EACCES":
      return `this user has no permission; run as its owner, or ${another}`;
    default:
      return messageOf(error);
  }
}

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** One kubeconfig: its fields, and the path that errors name and that relative file names start from. */
interface Source {
  readonly path: string;
  readonly fields: Fields;
}

/** Throws KubeconfigError for a text that is not YAML, or not an object. */
export function parseSource(yaml: string, path: string): Source {
  let parsed: unknown;
  try {
    parsed = parse(yaml, { maxAliasCount: 0, logLevel: "error" });
  } catch (cause) {
    throw new KubeconfigError(`kubeconfig ${path} is not YAML; write it again, or name another`, { cause });
  }
  if (parsed !== null && (typeof parsed !== "object" || Array.isArray(parsed))) {
    throw new KubeconfigError(`kubeconfig ${path} holds no clusters, users and contexts; name another file`);
  }
  return { path, fields: jsonFields(parsed) };
}

const entriesOf = (fields: Fields, list: string): Fields[] =>
  Array.isArray(fields[list]) ? fields[list].map(jsonFields) : [];

/** Two entries of one file with the same name: nobody knows which of them is meant. Upstream refuses them too. */
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

/** An entry of a list of a kubeconfig, with the file where it is. */
interface Entry {
  readonly path: string;
  readonly fields: Fields;
}

interface Choice {
  readonly context?: string | undefined;
  readonly isTokenGiven?: boolean | undefined;
  readonly hasFlags?: boolean;
}

/** A context of some kubeconfigs. The first that has an entry, or says the current context, wins. */
function contextOf(
  sources: readonly Source[],
  { context, isTokenGiven = false, hasFlags = true }: Choice,
): KubeconfigContext {
  for (const source of sources) refuseSameNames(source);
  const where = `kubeconfig ${sources.map(({ path }) => path).join(":")}`;
  const entries = (list: string): { readonly name: unknown; readonly path: string; readonly fields: Fields }[] =>
    sources.flatMap(({ path, fields }) =>
      entriesOf(fields, list).map((one) => ({ name: one["name"], path, fields: jsonFields(one[list.slice(0, -1)]) })),
    );
  const named = (list: string, name: string): Entry => {
    const found = entries(list).find((one) => one.name === name);
    if (found !== undefined) return found;
    const others = entries(list).map((one) => String(one.name));
    const hint = others.length === 0 ? "it has none" : `it has ${others.slice(0, 10).join(", ")}`;
    throw new KubeconfigError(`${where} has no ${list.slice(0, -1)} ${JSON.stringify(name)}; ${hint}`);
  };
  const current = sources.map(({ fields }) => text(fields["current-context"])).find((one) => one !== undefined);
  const contextName = context ?? current;
  if (contextName === undefined) {
    if (entries("contexts").length === 0) throw new KubeconfigError(`${where} has no contexts; name another file`);
    throw new KubeconfigError(
      `${where} has no current-context; ${hasFlags ? "choose one with --context" : "write one there"}`,
    );
  }
  const chosen = named("contexts", contextName).fields;
  const cluster = named("clusters", text(chosen["cluster"]) ?? "");
  const userName = text(chosen["user"]);
  const user = userName === undefined ? { path: cluster.path, fields: {} } : named("users", userName);
  const who = `${where}: user ${JSON.stringify(userName)}`;
  if (!isTokenGiven) checkLogin(user, { who, hasFlags });
  const actsAs = actingUserOf(user, who);
  return {
    namespace: text(chosen["namespace"]) ?? "default",
    files: [
      ...sources.map(({ path }) => path),
      ...namedFiles(cluster, ["certificate-authority"]),
      ...namedFiles(user, ["client-certificate", "client-key"]),
    ],
    transport: {
      ...serverOf(cluster, where),
      ...(!isTokenGiven && credentialsOf(user)),
      ...(actsAs !== undefined && { headers: actingHeaders(actsAs) }),
    },
  };
}

function serverOf(cluster: Entry, where: string): HttpsTransportOptions {
  const server = text(cluster.fields["server"]);
  if (server === undefined) throw new KubeconfigError(`${where}: the cluster has no server; write its URL there`);
  if (!URL.canParse(server) || new URL(server).protocol !== "https:") {
    throw new KubeconfigError(`${where}: the server ${JSON.stringify(server)} is not a URL that begins with https://`);
  }
  const { username, password } = new URL(server);
  if (username !== "" || password !== "") {
    throw new KubeconfigError(
      `${where}: the server's URL has a user or a password in it, which are not used; remove them`,
    );
  }
  const caCertificates = embedded(cluster, "certificate-authority");
  const serverName = text(cluster.fields["tls-server-name"]);
  return {
    server,
    ...(caCertificates !== undefined && { caCertificates }),
    ...(serverName !== undefined && { serverName }),
    ...(cluster.fields["insecure-skip-tls-verify"] === true && { skipsServerVerification: true }),
    ...proxyOf(cluster, where),
  };
}

/** A proxy that cannot be used is refused: a direct connection may be what it is there to prevent. */
function proxyOf({ fields }: Entry, where: string): Pick<HttpsTransportOptions, "proxyUrl"> {
  const proxyUrl = text(fields["proxy-url"]);
  if (proxyUrl === undefined) return {};
  // The URL may have a password in it.
  if (!URL.canParse(proxyUrl) || !/^https?:$/.test(new URL(proxyUrl).protocol)) {
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

/** Ways to log in that kubectl knows and Signet does not, each with what to do. */
function checkLogin({ fields }: Entry, { who, hasFlags }: { readonly who: string; readonly hasFlags: boolean }): void {
  const advice = hasFlags
    ? "give --token, or make a kubeconfig with signet kubeconfig"
    : "give it a token, or a client certificate and its key";
  for (const way of ["exec", "auth-provider", "username"]) {
    if (fields[way] !== undefined && fields[way] !== null) {
      throw new KubeconfigError(`${who} logs in by ${way}, which signet cannot do; ${advice}`);
    }
  }
  const hasCertificate = hasPem(fields, "client-certificate");
  if (hasCertificate !== hasPem(fields, "client-key")) {
    const missing = hasCertificate ? "client-key" : "client-certificate";
    throw new KubeconfigError(`${who} has no ${missing}; certificate and key go together`);
  }
}

/** Whom a user acts as, as kubectl reads it. To leave a part of it out would be to act with rights that nobody meant. */
function actingUserOf({ fields }: Entry, who: string): ActingUser | undefined {
  const wrong = (key: string, what: string): KubeconfigError =>
    new KubeconfigError(`${who} acts as another user, but ${key} is not ${what}; correct it`);
  const name = (value: unknown, key: string): string => {
    if (typeof value === "string" && value !== "" && !/\p{Cc}/u.test(value)) return value;
    throw wrong(key, "a text without control characters");
  };
  const names = (value: unknown, key: string): string[] => {
    if (Array.isArray(value)) return value.map((one) => name(one, key));
    throw wrong(key, "a list");
  };
  const [user, uid, groups, extra] = ["as", "as-uid", "as-groups", "as-user-extra"].map(
    (key) => fields[key] ?? undefined,
  );
  if ([user, uid, groups, extra].every((value) => value === undefined || value === "")) return undefined;
  if (extra !== undefined && !isJsonObject(extra)) throw wrong("as-user-extra", "a mapping");
  return {
    user: name(user, "as"),
    ...(uid !== undefined && { uid: name(uid, "as-uid") }),
    ...(groups !== undefined && { groups: names(groups, "as-groups") }),
    extra: Object.fromEntries(
      Object.entries(jsonFields(extra)).map(([key, values]) => [name(key, "as-user-extra"), names(values, key)]),
    ),
  };
}

const hasPem = (fields: Fields, key: string): boolean =>
  (text(fields[`${key}-data`]) ?? text(fields[key])) !== undefined;

function credentialsOf(user: Entry): Pick<HttpsTransportOptions, "bearerToken" | "clientCertificate"> {
  const certificate = embedded(user, "client-certificate");
  const key = embedded(user, "client-key");
  const token = text(user.fields["token"]);
  const tokenFile = text(user.fields["tokenFile"]);
  return {
    ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
    ...(tokenFile !== undefined
      ? { bearerToken: () => checkedToken(readNamedFile(tokenFile, user.path), user.path) }
      : token !== undefined && { bearerToken: () => checkedToken(token, user.path) }),
  };
}

function checkedToken(given: string, kubeconfig: string): string {
  const token = given.trim();
  if (isTokenText(token)) return token;
  throw new KubeconfigError(`kubeconfig ${kubeconfig}: the user's token is empty, or has spaces or line breaks`);
}

/** The text of `KEY-data`, which is in base64, or of the file that `KEY` names. */
function embedded({ fields, path }: Entry, key: string): string | undefined {
  const data = text(fields[`${key}-data`]);
  if (data !== undefined) {
    const pem = Buffer.from(data, "base64").toString("utf8");
    if (pem.includes("-----BEGIN ")) return pem;
    throw new KubeconfigError(`kubeconfig ${path}: ${key}-data is not PEM text in base64; get a new kubeconfig`);
  }
  const name = text(fields[key]);
  if (name === undefined) return undefined;
  const pem = readNamedFile(name, path);
  if (pem.includes("-----BEGIN ")) return pem;
  throw new KubeconfigError(`kubeconfig ${path} names ${name} as ${key}, which is not a PEM file; name another`);
}

const namedFiles = ({ fields, path }: Entry, keys: readonly string[]): string[] =>
  keys.flatMap((key) => {
    const name = text(fields[key]);
    return name === undefined ? [] : [namedFile(name, path)];
  });

const namedFile = (name: string, kubeconfig: string): string =>
  isAbsolute(name) ? name : join(dirname(kubeconfig), name);

function readNamedFile(name: string, kubeconfig: string): string {
  const file = namedFile(name, kubeconfig);
  try {
    const status = statSync(file);
    if (!status.isFile() || status.size > largestBytes) {
      throw new KubeconfigError(
        `kubeconfig ${kubeconfig} names ${file}, which is not a file of at most 16 MiB; name another one`,
      );
    }
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof KubeconfigError) throw cause;
    throw new KubeconfigError(
      `kubeconfig ${kubeconfig} names ${file}, which cannot be read: ${reasonFor(cause, { hasFlags: false })}`,
      {
        cause,
      },
    );
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
export const formatKubeconfig = (contents: KubeconfigContents): string => stringify(kubeconfigFields(contents));

/** What a new kubeconfig says. */
export function kubeconfigFields({ server, caCertificates, user, namespace, credentials }: KubeconfigContents) {
  const base64 = (pem: string): string => Buffer.from(pem, "utf8").toString("base64");
  return {
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
  };
}
