import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { openDecryptedStore } from "../encryption/decrypted-store.ts";
import { namesOfStore } from "../store/open-store.ts";
import { checkOwner, directoryExists } from "../data-directory/check-data-directory.ts";
import type { StoreLocation } from "../store/open-store.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { examineEncryption } from "./examine-encryption.ts";
import { examineEtcdAlarms, examineEtcdClocks } from "./examine-etcd.ts";
import { examineBindings } from "./examine-bindings.ts";
import { examineStorage } from "./examine-storage.ts";
import { examineCertificates, examineOwnCertificates } from "./examine-certificates.ts";
import { examineClock, examineDisk, examineIrregularFiles } from "./examine-data-directory.ts";
import { examineNamedFiles, examinePermissions } from "./examine-permissions.ts";
import { namedFiles } from "./named-files.ts";
import { examineConfiguration, isFaultOf, examineSettings } from "./examine-configuration.ts";
import { examineKeyFiles } from "./examine-key-files.ts";
import { examineOutsideKeys } from "./examine-outside-keys.ts";
import { examineSealedKeys } from "./examine-sealed-keys.ts";
import { StoreDamaged } from "../../machinery/storage/store.ts";
import { bad } from "./finding.ts";
import type { Finding } from "./finding.ts";

/**
 * Examines a server's settings, files and store, whether the server runs or not. Changes nothing. Rejects with UsageError when another user
 * owns the data directory, because the server could not use the lock files that this user would make.
 */
export async function examineServer(config: ServerConfig, now: number): Promise<Finding[]> {
  const { dataDirectory } = config;
  if (!directoryExists(dataDirectory)) {
    const advice = "give the --data-dir of the server; it is made when the server starts first";
    const missing = bad("data directory", { found: `${dataDirectory} does not exist`, advice });
    return [missing, ...(await examineConfiguration(config)), ...examineSettings(config)];
  }
  checkOwner(dataDirectory);
  const location = locationOf(config);
  const files = namedFiles(config);
  const storage = await examineStorage(location);
  const configuration = await examineConfiguration({ ...config, names: location.names });
  const kept = [...examinePermissions(dataDirectory), ...examineIrregularFiles(dataDirectory)];
  const canBeRead = storage.some(({ state }) => state === "good") && !isFaultOf("encryption", configuration);
  return [
    ...kept,
    ...examineNamedFiles(files),
    ...examineCertificates(dataDirectory, { now, files: files.certificates }),
    ...examineOwnCertificates(config, now),
    examineClock(dataDirectory, now),
    ...(await examineEtcdClocks(location.storage, now)),
    ...examineDisk(dataDirectory),
    ...storage,
    ...(await examineEtcdAlarms(location.storage)),
    ...(canBeRead ? await examineContents(location, kept) : []),
    ...configuration,
    ...(await examineOutsideKeys(config, files.keysInTokens)),
    ...examineSettings(config),
  ];
}

/** The location of the objects, with the names that they were written with. */
function locationOf(config: ServerConfig): StoreLocation {
  if (config.storage.type === "etcd") return config;
  try {
    return { ...config, names: namesOfStore(config.dataDirectory) };
  } catch {
    return config; // `examineStorage` says what is wrong with it
  }
}

/** Examines the contents of the store, and how they are encrypted. */
async function examineContents(location: StoreLocation, kept: readonly Finding[]): Promise<Finding[]> {
  try {
    const areFilesSound = kept.every(({ state }) => state === "good");
    return [...(await contentsOf(location, { areFilesSound })), ...(await examineEncryption(location))];
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    return [bad("storage", { found: error.found, advice: StoreDamaged.advice })];
  }
}

/** Examines the contents. Empty for a store whose keys can't be used, which `examineEncryption` reports. */
async function contentsOf(
  location: StoreLocation,
  { areFilesSound }: { readonly areFilesSound: boolean },
): Promise<Finding[]> {
  const { dataDirectory } = location;
  const opened = await openDecryptedStore(location).catch((error: unknown) => {
    if (error instanceof UsageError || error instanceof UnusableFile) return undefined;
    throw error;
  });
  if (opened === undefined) return [];
  const { store, close } = opened;
  try {
    return [
      ...(await examineBindings(store)),
      ...(areFilesSound ? await examineKeyFiles(store, dataDirectory) : []),
      ...(await examineSealedKeys(store, dataDirectory)),
    ];
  } finally {
    await close();
  }
}
