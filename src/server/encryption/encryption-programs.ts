import { accessSync, constants, lstatSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { commandRefused, exitCodes } from "../../machinery/command-line/command-failure.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { startProgress } from "../../machinery/command-line/output/progress.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { textTable } from "../../machinery/command-line/output/text-table.ts";
import { removeUnfinished } from "../../machinery/files/unfinished-files.ts";
import { openFileLock } from "../../machinery/files/locks/file-lock.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import type { NamedKey } from "../../machinery/storage/encryption/aes-gcm.ts";
import { usesDataDirectory, withServerStore } from "../store/with-server-store.ts";
import { checkDataDirectory } from "../data-directory/check-data-directory.ts";
import type { EncryptionAction } from "../settings/encryption-settings.ts";
import { interruptible } from "../../machinery/command-line/interruptible.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { encryptionKeyFile, newEncryptionKey, readEncryptionKeys, writeEncryptionKeys } from "./encryption-key-file.ts";
import type { DecryptedStore } from "./decrypted-store.ts";
import { objectsOf, rewriteStale, surveyEncryption, withReason } from "./stored-encryption.ts";
import type { EncryptionSurvey } from "./stored-encryption.ts";
import { singleKeyRange } from "../../machinery/storage/key-range.ts";
import { counted } from "../../machinery/command-line/output/counted.ts";

/** `signet encryption`. */
export function runEncryption(config: ServerConfig, action: EncryptionAction): Promise<void> {
  switch (action.type) {
    case "status":
      return showStatus(config);
    case "rewrite":
      return rewriteAll(config);
    case "rotate":
      return changingOwnKeys(config, rotate);
    case "retire":
      return changingOwnKeys(config, retire);
    case "discard":
      return discard(config, action.key);
  }
}

/** `signet encryption status`: shows how every object was encrypted. The exit code is 1 when an object can't be read. */
async function showStatus(config: ServerConfig): Promise<void> {
  const survey = await withServerStore(config, shownSurvey);
  const rows = survey.groups
    .filter(({ writtenWith, state }) => writtenWith !== "plain" || state !== "current")
    .map(({ resource, writtenWith, objects, state }) => [resource, writtenWith, String(objects), state]);
  if (rows.length === 0) console.log("the store has no object that is encrypted, and none that should be");
  else console.log(textTable(rows, { header: ["RESOURCE", "WRITTEN WITH", "OBJECTS", "STATE"] }));
  const stale = objectsOf(survey, "stale");
  if (stale > 0) console.log(`${counted(stale, "object")} to write as the settings say now: signet encryption rewrite`);
  for (const { key, reason } of survey.unreadable) console.log(printable(`${key}: ${reason}`));
  if (objectsOf(survey, "unreadable") === 0) return;
  const { withoutKms, damaged, lost } = survey;
  if (withoutKms > 0)
    console.log(`${counted(withoutKms, "object")} can't be decrypted while the KMS does not work: start it`);
  if (damaged > 0) {
    console.log(
      `${counted(damaged, "object")} damaged in the store's file: restore a backup, or give up what is damaged: ` +
        "signet encryption discard KEY",
    );
  }
  if (lost > 0) {
    const [keys, them] = lost === 1 ? ["its key", "it"] : ["their keys", "them"];
    const advice = `put ${keys} back, or give ${them} up: signet encryption discard KEY`;
    console.log(`${counted(lost, "object")} can't be decrypted: ${advice}`);
  }
  process.exitCode = exitCodes.refused.code;
}

/** Examines every stored object, and shows the progress. */
async function shownSurvey(opened: DecryptedStore): Promise<EncryptionSurvey> {
  const progress = startProgress();
  try {
    return await interruptible("nothing was changed", (signal) =>
      surveyEncryption(opened, { signal, onProgress: (seen) => progress.show(`${seen} objects seen`) }),
    );
  } finally {
    progress.end();
  }
}

/** `signet encryption rewrite`: encrypts all objects as the present settings say. */
async function rewriteAll(config: ServerConfig): Promise<void> {
  await withServerStore(config, rewrite);
  if (config.encryption.configuration?.isFollowed === false) {
    console.log(
      "  servers read the configuration when they start: those that run must have been started with this one",
    );
  }
}

async function rewrite(opened: DecryptedStore): Promise<void> {
  const progress = startProgress();
  const onProgress = (seen: number, written: number): void =>
    progress.show(`${seen} objects seen, ${written} rewritten`);
  try {
    const { rewritten, unreadable, changedMeanwhile } = await interruptible(
      "what is written stays, and the same command continues",
      (signal) => rewriteStale(opened, { signal, onProgress }),
    );
    progress.end();
    console.log(`rewrote ${counted(rewritten, "object")}`);
    if (changedMeanwhile > 0)
      console.log(`  ${changedMeanwhile} others were changed meanwhile: run it again to be sure`);
    if (unreadable > 0) console.log(`  ${unreadable} can't be read and stay as they are: signet encryption status`);
  } finally {
    progress.end();
  }
}

/** `signet encryption rotate`: makes a new key for Secrets, and encrypts all Secrets with it. */
async function rotate(config: ServerConfig, { file, keys }: OwnKeys): Promise<void> {
  const [current, ...old] = keys;
  const survey = await withServerStore(config, shownSurvey);
  if (writtenWithOneOf(survey, old) > 0) {
    console.log(`continues with the key ${current?.name}: objects are left that were written with the one before`);
  } else {
    const made = newEncryptionKey();
    writeEncryptionKeys(file, [made, ...keys]);
    console.log(`${printable(file)}: made the key ${made.name}; servers use it from their next write on`);
  }
  await withServerStore(config, rewrite);
  console.log("  the old key still reads; when all is well: signet encryption retire");
}

/** `signet encryption retire`: removes the old keys from the file once no object needs them. */
async function retire(config: ServerConfig, { file, keys }: OwnKeys): Promise<void> {
  const [current, ...old] = keys;
  if (current === undefined || old.length === 0) {
    console.log(`${printable(file)} has one key: there is no old one to retire`);
    return;
  }
  await withServerStore(config, async (opened) => {
    const survey = await shownSurvey(opened);
    const left = writtenWithOneOf(survey, old);
    const unreadable = objectsOf(survey, "unreadable");
    // An object that no key of the file decrypts may belong to another server, with another file.
    if (unreadable > 0)
      throw commandRefused(`${counted(unreadable, "object")} can't be read: signet encryption status`);
    if (left > 0)
      throw commandRefused(`${counted(left, "object")} to write with the current key first: signet encryption rewrite`);
    // Earlier versions of objects are encrypted with the old keys, so they are compacted away. Clients that watch them start again.
    await opened.stored.compact(await opened.stored.latestRevision());
  });
  writeEncryptionKeys(file, [current]);
  console.log(`${printable(file)}: retired ${old.map(({ name }) => name).join(", ")}; ${current.name} is left`);
  console.log("  backups made before need the file as it was: one with keys holds it");
}

/** `signet encryption discard`: deletes an object that can't be read. */
async function discard(config: ServerConfig, key: string): Promise<void> {
  await withServerStore(config, async ({ store, stored }) => {
    const {
      entries: [entry],
    } = await store.range({ ...singleKeyRange(key), showsDamaged: true });
    if (entry === undefined) {
      throw new UsageError(`there is no object ${JSON.stringify(key)}: signet encryption status shows keys`);
    }
    if (entry.isKmsUnavailable === true) {
      throw commandRefused(
        `${JSON.stringify(key)} can be decrypted when the KMS works: start it. If its key is lost forever, take the provider ` +
          "out of --encryption-provider-config first",
      );
    }
    if (withReason(entry).unreadable === undefined) {
      throw new UsageError(`${JSON.stringify(key)} can be read: delete it through the API`);
    }
    const { isWritten } = await stored.write({ key, value: undefined, expectedRevision: entry.modRevision });
    if (!isWritten) throw commandRefused(`${JSON.stringify(key)} was changed at this moment: look at it again`);
  });
  console.log(printable(`${key}: deleted; its contents are lost`));
}

/** The file with the keys for Secrets, and the keys. */
interface OwnKeys {
  readonly file: string;
  readonly keys: readonly NamedKey[];
}

/**
 * Runs a command that replaces the key file. Only one such command runs at a time, because another one would overwrite a key that servers
 * already use. Rejects with CommandFailure while another such command runs, and as `ownKeys` and `withServerStore` do.
 */
async function changingOwnKeys(
  config: ServerConfig,
  change: (config: ServerConfig, own: OwnKeys) => Promise<void>,
): Promise<void> {
  // Before the lock, because a lock file of another user would block the server's own.
  if (usesDataDirectory(config)) checkDataDirectory(config.dataDirectory);
  const { file } = ownKeys(config);
  const lock = openFileLock(`${file}.lock`);
  try {
    if (!lock.lockExclusive({ waitMilliseconds: 0 }))
      throw commandRefused(`another command is changing ${file}: run this again when it has ended`);
    const own = ownKeys(config);
    removeUnfinished(own.file); // a kill may have left keys there
    await change(config, own);
  } finally {
    lock.release();
  }
}

/**
 * The key file of the server, with its keys. Throws UsageError for a server whose keys are elsewhere, and for a file that can't be
 * replaced.
 */
function ownKeys(config: ServerConfig): OwnKeys {
  if (config.encryption.configuration !== undefined) {
    throw new UsageError(
      "--encryption-provider-config: put the new key into the file yourself (docs/encryption.md says how), then run " +
        "signet encryption rewrite",
    );
  }
  const named = encryptionKeyFile(config.encryption, config.dataDirectory);
  const keys = readEncryptionKeys(config.encryption, config.dataDirectory) ?? [];
  if (keys.length === 0) throw new UsageError(`${named} does not exist: signet serve makes it when it starts first`);
  // The target of a link. A file that replaced the link itself would be lost when somebody makes the link again.
  const file = lstatSync(named).isSymbolicLink() ? realpathSync.native(named) : named;
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (cause) {
    throw new UsageError(
      `${file}: ${fileFailureReason(cause)}. If a service manager hands it over, put the output of "openssl rand -base64 32" ` +
        "into its first line at the source, start the server again, and run signet encryption rewrite",
      { cause },
    );
  }
  return { file, keys };
}

function writtenWithOneOf({ groups }: EncryptionSurvey, keys: readonly { readonly name: string }[]): number {
  const providers = new Set(keys.map(({ name }) => `aesgcmderived:v1:${name}`));
  return groups.filter((group) => providers.has(group.writtenWith)).reduce((sum, { objects }) => sum + objects, 0);
}
