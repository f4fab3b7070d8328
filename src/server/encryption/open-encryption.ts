import { prefixRange } from "../../machinery/storage/key-range.ts";
import { statSync } from "node:fs";
import type { Logger } from "pino";
import { namesFor } from "../../machinery/api/names.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { parseSettingsFile, readFollowedFile } from "../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import { isOpenToOthers } from "../../machinery/files/is-open-to-others.ts";
import { modeText } from "../../machinery/files/mode-text.ts";
import type { HealthCheck } from "../../machinery/http/routes/health-routes.ts";
import { EncryptedStore } from "../../machinery/storage/encryption/encrypted-store.ts";
import type { EncryptionSource } from "../../machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../machinery/storage/encryption/encryption-rules.ts";
import { derivedAesGcm } from "../../machinery/storage/encryption/aes-gcm.ts";
import type { NamedKey } from "../../machinery/storage/encryption/aes-gcm.ts";
import { writtenWith } from "../../machinery/storage/encryption/value-transformer.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { endingProcess, openStore } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { storedResources } from "../served-kinds.ts";
import { secretsPrefix, secretsRules } from "./compile-encryption.ts";
import { encryptionKeyFile, newEncryptionKey, readEncryptionKeys, writeEncryptionKeys } from "./encryption-key-file.ts";
import type { Log } from "../../machinery/logging/log.ts";

const flag = "encryption-provider-config";

interface OpenEncryptionOptions {
  readonly log: Pick<Log, "info" | "warn">;
  readonly followed: FollowedFiles;
  /** The store with encrypted values, in which a missing key may still be needed. */
  readonly store: Store;
  /** Whether to make a key for a data directory without one. A server does; commands only read. */
  readonly makesKey: boolean;
}

/** How a server encrypts its store. */
interface Encryption extends EncryptionSource {
  readonly healthChecks: readonly HealthCheck[];
  close(): void;
}

/** The store with its values decrypted, and what to close after it. */
interface OpenedEncryption {
  readonly encryption: Encryption;
  readonly store: EncryptedStore;
}

/**
 * Opens the encryption of a store's values. Throws UsageError and UnusableFile for settings and files that can't be used, and for a missing
 * key file while the store has values that need it.
 */
export async function openEncryption(
  location: StoreLocation,
  options: OpenEncryptionOptions,
): Promise<OpenedEncryption> {
  const { configuration } = location.encryption;
  const encryption =
    configuration === undefined
      ? await openKeyFile(location, options)
      : await openConfiguration(location, { ...options, ...configuration });
  return { encryption, store: new EncryptedStore(options.store, encryption) };
}

/**
 * Opens the encryption of Secrets with the keys of a file. On etcd it encrypts only with a file that the settings name, because replicas
 * must share the keys.
 */
async function openKeyFile(
  location: StoreLocation,
  { log, followed, store, makesKey }: OpenEncryptionOptions,
): Promise<Encryption> {
  const { dataDirectory, encryption, storage } = location;
  const file = encryptionKeyFile(encryption, dataDirectory);
  const encrypts = storage.type === "own" || encryption.keyFile !== undefined;
  let hasKeys = readEncryptionKeys(encryption, dataDirectory) !== undefined;
  if (!hasKeys && encrypts && makesKey) {
    const missing = await firstNeededKey(store);
    if (missing !== undefined) throw missingKeyError(file, `Secrets are encrypted with its key ${missing}`);
    writeEncryptionKeys(file, [newEncryptionKey()]);
    hasKeys = true;
  }
  if (!encrypts && makesKey) {
    log.warn({}, "Secrets are not encrypted in etcd: give all replicas the same --encryption-key-file");
  }
  // A server whose settings name a key file may have begun with the file in its data directory.
  const ownKeys = (): readonly NamedKey[] =>
    encryption.keyFile === undefined
      ? []
      : (readEncryptionKeys({ ...encryption, keyFile: undefined }, dataDirectory) ?? []);
  const load = (): EncryptionRules => {
    const keys = readEncryptionKeys(encryption, dataDirectory) ?? [];
    // Without the keys, Secrets would be written unencrypted.
    if (hasKeys && keys.length === 0) throw missingKeyError(file, "it was there at the start");
    if (encrypts) return secretsRules(keys, ownKeys());
    return new EncryptionRules({ rules: [], readers: keys.map(derivedAesGcm) });
  };
  return followedRules({ setting: "encryption-key-file", file, load, followed, healthChecks: [], close: () => {} });
}

const missingKeyError = (file: string, why: string): UsageError =>
  new UsageError(
    `${file} is gone, and ${why}: put it back (a backup with keys has it), or name the file that the server had (--encryption-key-file)`,
  );

/** The name of a key of a key file with which a Secret is encrypted. Undefined when there is no such Secret. */
async function firstNeededKey(store: Store): Promise<string | undefined> {
  const { entries } = await store.range({ ...prefixRange(secretsPrefix), showsDamaged: true });
  for (const { value } of entries) {
    const [provider, , name] = writtenWith(value)?.split(":") ?? [];
    if (provider === "aesgcmderived") return name;
  }
  return undefined;
}

async function openConfiguration(
  { dataDirectory, encryption, names }: StoreLocation,
  { log, followed, file, isFollowed }: OpenEncryptionOptions & { readonly file: string; readonly isFollowed: boolean },
): Promise<Encryption> {
  const { parseEncryptionConfiguration } = await import("./encryption-configuration.ts");
  const { compileEncryption } = await import("./compile-encryption.ts");
  const { KmsPlugins } = await import("./kms-plugins.ts");
  const listeners = new Set<() => void>();
  const kms = new KmsPlugins({ log, onReadable: () => notify(listeners) });
  // Knows both spellings, whichever the server serves, because the objects are the same.
  const allNames = namesFor(names.profile, { hasUpstreamNames: true });
  const served = { names: allNames, definitions: storedResources(allNames) };
  const load = (): EncryptionRules => {
    const entries = parseSettingsFile({ flag, file, read: readFollowedFile }, parseEncryptionConfiguration);
    const readingKeys = readEncryptionKeys(encryption, dataDirectory) ?? [];
    const { rules, unknown } = kms.next((openKms) => compileEncryption(entries, { ...served, readingKeys, openKms }));
    if (unknown.length > 0)
      log.warn({ file, unknown }, "the encryption configuration names resources that are not served");
    warnOfPermissions(file, log);
    return rules;
  };
  return followedRules({
    setting: flag,
    file: isFollowed ? file : undefined,
    load,
    followed,
    listeners,
    healthChecks: [{ name: "kms-providers", endpoints: ["readyz"], check: () => kms.check() }],
    close: () => kms.close(),
  });
}

/** Warns of a file that other users can read: they could read everything that it encrypts. Kubernetes accepts such a file too. */
function warnOfPermissions(file: string, log: Pick<Log, "warn">): void {
  const status = statSync(file);
  if (!isOpenToOthers(file, status)) return;
  log.warn(
    { file, mode: modeText(status.mode) },
    "others can read or write the encryption configuration: chmod 600 it",
  );
}

function notify(listeners: ReadonlySet<() => void>): void {
  for (const listener of listeners) listener();
}

interface FollowedEncryption {
  readonly setting: string;
  /** The file to follow. Undefined: the rules never change. */
  readonly file: string | undefined;
  readonly load: () => EncryptionRules;
  readonly followed: FollowedFiles;
  /** Called when values may be readable that were not. */
  readonly listeners?: Set<() => void>;
  readonly healthChecks: readonly HealthCheck[];
  readonly close: () => void;
}

function followedRules({
  setting,
  file,
  load,
  followed,
  listeners = new Set(),
  healthChecks,
  close,
}: FollowedEncryption): Encryption {
  const group = followed.group();
  const current = group.follow({
    setting,
    files: () => (file === undefined ? [] : [file]),
    load,
    // Later, because the caller may be in the middle of a change.
    onChange: () => void setImmediate(notify, listeners),
  });
  return {
    current,
    refreshed() {
      group.refresh({ isForced: false });
      return current();
    },
    onReadable: (listener) => listeners.add(listener),
    healthChecks,
    close() {
      group.stop();
      close();
    },
  };
}

/** The store as a server uses it. */
interface ServerStore {
  readonly store: Store;
  readonly healthChecks: readonly HealthCheck[];
  close(): Promise<void>;
}

/** Opens a server's store with its encryption, and makes the key when there is none. `given` replaces the configured store. */
export async function openServerStore(
  location: StoreLocation,
  {
    given,
    log,
    followed,
  }: Pick<OpenEncryptionOptions, "followed"> & { readonly given: Store | undefined; readonly log: Logger },
): Promise<ServerStore> {
  const stored = given ?? (await openStore(location, endingProcess(log)));
  try {
    const { store, encryption } = await openEncryption(location, { log, followed, store: stored, makesKey: true });
    return {
      store,
      healthChecks: encryption.healthChecks,
      async close() {
        encryption.close();
        await store.close();
      },
    };
  } catch (error) {
    await stored.close();
    throw error;
  }
}
