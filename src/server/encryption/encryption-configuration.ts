import { parseDocument } from "yaml";
import { longestTimerMilliseconds } from "../../machinery/api/clock.ts";
import { parseDuration } from "../../machinery/api/duration.ts";
import { yamlContentFault, yamlPlace } from "../../machinery/api/json/parse-yaml.ts";
import { Fields, refuseFaults } from "../../machinery/command-line/settings/fields.ts";
import { socketPathFault, socketScheme } from "../../machinery/grpc/connect-socket.ts";
import type { NamedKey } from "../../machinery/storage/encryption/aes-gcm.ts";
import { resourceFaults } from "./encrypted-resources.ts";

/** One provider of the file, with its keys. */
export type Provider =
  | { readonly type: "identity" }
  | { readonly type: KeyedProvider; readonly keys: readonly NamedKey[] }
  | ({ readonly type: "kms" } & KmsProvider);

type KeyedProvider = keyof typeof keySizes;

export interface KmsProvider {
  readonly name: string;
  /** The `unix:///path` of the plugin's socket. */
  readonly endpoint: string;
  readonly timeoutMilliseconds: number;
}

/** An entry of the file's list. */
export interface EncryptedResources {
  /** The resources as the file spells them: `secrets`, `certificatesigningrequests.certificates.k8s.io`, `*.group`, `*.`, `*.*`. */
  readonly resources: readonly string[];
  readonly providers: readonly Provider[];
}

/** The allowed lengths of keys, in bytes. */
const keySizes = {
  aesgcm: [16, 24, 32],
  aescbc: [16, 24, 32],
  secretbox: [32],
  /** Signet's own provider. */
  aesgcmderived: [32],
} as const;

const providerTypes = ["identity", "kms", "aesgcm", "aescbc", "secretbox", "aesgcmderived"] as const;
/** The longest name of a key, which precedes each encrypted value. */
const longestNameBytes = 253;
const defaultTimeoutMilliseconds = 3_000;
/** The most entries, providers and keys, because each is tried for values. */
const maximumEntries = 100;

/**
 * Parses the file of `--encryption-provider-config` (YAML or JSON) with upstream's rules (`ValidateEncryptionConfiguration`), but more
 * strictly: unknown fields are faults, and the keys of one provider must have different names. Throws an Error that lists the faults, each
 * with its path. No message quotes a value of the file that may be secret.
 */
export function parseEncryptionConfiguration(text: string): EncryptedResources[] {
  const fields = new Fields(parseYaml(text), { path: "", faults: [] });
  fields.type("apiserver.config.k8s.io/v1", "EncryptionConfiguration");
  const kmsNames = new Set<string>();
  const entries = listOf({ fields, name: "resources" }, (entry) => ({
    resources: resourcesOf(entry),
    providers: listOf({ fields: entry, name: "providers" }, (provider) => providerOf(provider, kmsNames)),
  }));
  fields.refuseOthers();
  refuseFaults(fields.faults);
  return entries;
}

function parseYaml(text: string): unknown {
  const document = parseDocument(text, { merge: true, logLevel: "error" });
  const [error] = document.errors;
  // The parser's own messages may quote the file, which contains keys.
  if (error !== undefined) throw new Error(`it ${yamlContentFault(error) ?? `is not YAML${yamlPlace(error)}`}`);
  try {
    return document.toJS();
  } catch {
    throw new Error("it is not YAML (an alias without its anchor, or too many of them)");
  }
}

/** Reads a list of mappings, which must not be empty. */
function listOf<T>(
  { fields, name }: { readonly fields: Fields; readonly name: string },
  parseOne: (entry: Fields) => T | undefined,
): T[] {
  const parsed = fields.list(name, (value, path) => {
    const entry = fields.at(value ?? {}, path);
    const one = parseOne(entry);
    entry.refuseOthers();
    return { one };
  });
  if (parsed === undefined || parsed.length === 0) fields.fault(name, `at least one of ${name} is required`);
  const bounded = fields.bounded(parsed, { name, maximum: maximumEntries }) ?? [];
  return bounded.flatMap(({ one }) => (one === undefined ? [] : [one]));
}

function resourcesOf(entry: Fields): readonly string[] {
  const listed = entry.texts("resources");
  const resources = entry.bounded(listed, { name: "resources", maximum: maximumEntries }) ?? [];
  if (resources.length === 0) entry.fault("resources", "at least one of resources is required");
  for (const fault of resourceFaults(resources)) entry.fault("resources", fault);
  return resources;
}

function providerOf(provider: Fields, kmsNames: Set<string>): Provider | undefined {
  const given = providerTypes.filter((type) => provider.has(type));
  const [type] = given;
  if (type === undefined || given.length > 1) {
    for (const one of given) provider.fields(one);
    provider.faults.push(
      given.length > 1
        ? "providers: more than one provider specified in a single element, should split into different list elements"
        : `providers: an element has none of the providers ${providerTypes.join(", ")}`,
    );
    return undefined;
  }
  if (type === "identity") {
    provider.fields(type).refuseOthers();
    return { type };
  }
  const fields = provider.fields(type);
  const parsed = type === "kms" ? kmsOf(fields, kmsNames) : { type, keys: keysOf(fields, keySizes[type]) };
  fields.refuseOthers();
  return parsed;
}

function keysOf(fields: Fields, sizes: readonly number[]): NamedKey[] {
  const names = new Set<string>();
  return listOf({ fields, name: "keys" }, (key) => {
    const name = key.text("name") ?? "";
    if (name === "") key.fault("name", "name is a mandatory field for a key");
    nameFault(key, name);
    if (names.has(name)) key.fault("name", "another key of this provider has the same name");
    names.add(name);
    // As Go's decoder, which upstream uses: a block of YAML (`secret: |`) ends with a line break.
    const encoded = (key.text("secret") ?? "").replaceAll(/[\r\n]/g, "");
    const secret = Buffer.from(encoded, "base64");
    if (encoded === "") key.fault("secret", "secret is a mandatory field for a key");
    else if (secret.toString("base64") !== encoded) key.fault("secret", "secrets must be base64 encoded");
    else if (!sizes.includes(secret.length)) {
      const wanted = sizes.length === 1 ? `${sizes[0]}` : `one of ${sizes.join(", ")}`;
      key.fault("secret", `secret is not of the expected length, got ${secret.length} bytes, expected ${wanted}`);
    }
    return { name, secret };
  });
}

function nameFault(fields: Fields, name: string): void {
  if (name.includes(":")) fields.fault("name", "must not contain ':'");
  if (Buffer.byteLength(name) > longestNameBytes) fields.fault("name", `must have at most ${longestNameBytes} bytes`);
  if (/[^\x21-\x7e]/.test(name)) fields.fault("name", "must have only printable ASCII characters, without blanks");
}

function kmsOf(fields: Fields, names: Set<string>): Provider {
  const name = fields.text("name") ?? "";
  if (name === "") fields.fault("name", "name is a mandatory field for a provider");
  nameFault(fields, name);
  if (names.has(name)) fields.fault("name", `duplicate KMS provider name ${name}, names must be unique`);
  names.add(name);
  const version = fields.text("apiVersion") ?? "v1";
  if (version !== "v2") {
    fields.fault("apiVersion", "only v2 is supported: KMS v1 is off in Kubernetes since 1.29; set apiVersion: v2");
  }
  if (fields.has("cachesize")) {
    fields.integer("cachesize", { from: -(2 ** 31), to: 2 ** 31 });
    fields.fault("cachesize", "cachesize is not supported in v2");
  }
  const endpoint = fields.text("endpoint") ?? "";
  if (!/^unix:\/\/\/?[^\s]+$/.test(endpoint)) {
    fields.fault("endpoint", "must be the plugin's socket, as unix:///path");
  }
  const fault = socketPathFault(endpoint.slice(socketScheme.length));
  if (fault !== undefined) fields.fault("endpoint", fault);
  const timeout = fields.text("timeout");
  const timeoutMilliseconds = timeout === undefined ? defaultTimeoutMilliseconds : (parseDuration(timeout) ?? 0);
  if (timeoutMilliseconds <= 0) fields.fault("timeout", "timeout should be a positive duration, such as 3s");
  return { type: "kms", name, endpoint, timeoutMilliseconds: Math.min(timeoutMilliseconds, longestTimerMilliseconds) };
}
