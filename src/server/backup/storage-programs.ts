import { basename } from "node:path";
import { errorCode } from "../../machinery/api/thrown-error.ts";
import { systemClock, sleep } from "../../machinery/api/clock.ts";
import { CommandFailure, commandRefused } from "../../machinery/command-line/command-failure.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { isUnfinishedFile } from "../../machinery/files/unfinished-files.ts";
import { fileFailureReason, namesPath, unreadableFileReason } from "../../machinery/files/unusable-file.ts";
import { mustReadAgain, TooLargeToCopy, UnreadableSource } from "../../machinery/storage/copy-objects.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { interruptible } from "../../machinery/command-line/interruptible.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { backUp } from "./back-up.ts";
import { verifyBackupFile } from "./backup-file.ts";
import { DamagedBackup } from "./backup-format.ts";
import type { EtcdSettings } from "../store/etcd-tls-files.ts";
import { isOpenToTheNetwork } from "../settings/storage-settings.ts";
import { migrateStorage } from "./migrate-storage.ts";
import type { MigrateOptions } from "./migrate-storage.ts";
import { restoreBackup } from "./restore.ts";
import { shellWord } from "../../machinery/command-line/output/shell-word.ts";

/** What an interrupted backup, restore or move has changed, for its message. */
const untouched = "nothing was changed";

/** `signet backup`: prints what the file contains. */
export async function runBackUp(
  location: StoreLocation,
  { file, withKeys }: { readonly file: string; readonly withKeys: boolean },
): Promise<void> {
  const report = await explained({ written: file }, () =>
    interruptible(untouched, (signal) => backUp(location, { file, withKeys, clock: systemClock, signal })),
  );
  console.log(
    `${printable(file)}: ${report.objects} objects at revision ${report.revision}, ${report.files} files; read again and complete`,
  );
  const { plainSecrets } = report;
  if (plainSecrets > 0) {
    const advice = withKeys ? "" : ": encrypt them first (signet encryption rewrite), or guard the backup as the keys";
    console.log(`  ${plainSecrets} Secrets in it are not encrypted${advice}`);
  }
  if (withKeys) console.log("  it holds private keys and Secrets: anyone who reads it can act as any user");
  else sayKeys(report.withoutKeys, "not in it, keep them elsewhere");
}

/** `signet restore`: prints what was restored, and what to do next. */
export async function runRestore(
  location: StoreLocation,
  { file, isDryRun }: { readonly file: string; readonly isDryRun: boolean },
): Promise<void> {
  if (isDryRun) {
    const { header, objects, files } = await explained({ read: file }, () => verifyBackupFile(file));
    console.log(`${printable(file)}: complete; ${objects} objects at revision ${header.revision}, ${files} files`);
    console.log(`  made ${header.time} by signet ${header.signet} (${header.profile} names)`);
    return;
  }
  const { dataDirectory } = location;
  const report = await explained({ read: file, written: dataDirectory }, () =>
    interruptible(untouched, (signal) => restoreBackup(location, { file, clock: systemClock, signal })),
  );
  const place = printable(dataDirectory);
  console.log(`${place}: ${report.objects} objects up to revision ${report.revision}, ${report.files} files`);
  if (report.withoutKeys.length > 0) sayKeys(report.withoutKeys, `the backup has no keys: copy them to ${place} first`);
  console.log(`  ${serveCommand(location, report.profile)}`);
}

/** The command that starts the restored server, with the settings that were given to the restore. */
export function serveCommand({ dataDirectory, storage, encryption }: StoreLocation, profile: string): string {
  const { configuration, keyFile } = encryption;
  const flags = {
    "data-dir": dataDirectory,
    profile,
    ...(storage.type === "etcd" && etcdFlags(storage)),
    "encryption-key-file": keyFile,
    "encryption-provider-config": configuration?.file,
    "encryption-provider-config-automatic-reload": configuration?.isFollowed === true ? "true" : undefined,
  };
  const words = Object.entries(flags).flatMap(([flag, value]) => (value ? [`--${flag}`, shellWord(value)] : []));
  return `signet serve ${words.join(" ")}`;
}

const etcdFlags = ({ servers, prefix, authorityFile, clientCertificate }: EtcdSettings) => ({
  "etcd-servers": servers.join(","),
  "etcd-prefix": prefix,
  "etcd-cafile": authorityFile,
  "etcd-certfile": clientCertificate?.certificateFile,
  "etcd-keyfile": clientCertificate?.keyFile,
  "etcd-allow-plaintext": servers.some(isOpenToTheNetwork) ? "true" : undefined,
});

/** `signet storage migrate`. */
export async function runMigrateStorage(
  location: StoreLocation,
  { from, to }: Pick<MigrateOptions, "from" | "to">,
): Promise<void> {
  const report = await explained({ written: location.dataDirectory }, () =>
    interruptible(untouched, (signal) => migrateStorage(location, { from, to, sleep, signal, onWait: console.error })),
  );
  console.log(`moved ${report.objects} objects from ${from} to ${to}, up to revision ${report.revision}`);
  const { configuration, keyFile } = location.encryption;
  if (to === "etcd" && configuration === undefined && keyFile === undefined) {
    console.log(
      "  Secrets are not encrypted in etcd: give all replicas one --encryption-key-file, then signet encryption rewrite",
    );
  }
  const flag = to === "etcd" ? " with --etcd-servers" : " without --etcd-servers";
  console.log(`  start signet serve${flag} and --profile ${report.profile}`);
}

function sayKeys(keys: readonly string[], what: string): void {
  if (keys.length > 0) console.log(`  ${what}: ${keys.join(", ")}`);
}

/** The files that a program reads and writes. */
interface Places {
  readonly read?: string;
  readonly written?: string;
}

/**
 * What to do about an object that can't be copied. The key is quoted, because users choose names with characters that have a meaning in a
 * shell.
 */
export const unreadableSourceAdvice = ({
  key,
  isKmsUnavailable,
}: Pick<UnreadableSource, "key" | "isKmsUnavailable">): string =>
  isKmsUnavailable ? "start its KMS" : `put its key back, or give it up: signet encryption discard ${shellWord(key)}`;

/** For etcd. This size is enough for the largest --max-request-bytes that a server may have. */
const tooLargeAdvice = "start etcd's members with --max-request-bytes=4194304, and run this again";

/** The objects of one revision were not all read before the store forgot that revision. */
const tookTooLong =
  "the store forgot the state that was being read before all of it was read: servers keep a state for five minutes, or less while much is " +
  "written; use a faster disk, or stop the servers and run this again";

/** System errors that mean that there is no space for the file. */
const fullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Whether an error is about the file that is being written. It has a temporary name, which users do not know, until it is complete. Errors
 * of an open file have no path.
 */
const isOfWrittenFile = (error: Error & { readonly syscall?: unknown }): boolean =>
  fullCodes.has(errorCode(error)) ||
  (namesPath(error) ? isUnfinishedFile(basename(error.path)) : error.syscall !== "read");

/** Turns errors from outside this program into errors with one line for people. */
async function explained<T>({ read, written }: Places, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof DamagedBackup) {
      throw new UsageError(`${read ?? written} cannot be restored: ${error.message}`, { cause: error });
    }
    if (error instanceof UnreadableSource) {
      throw new UsageError(`${error.message}: ${unreadableSourceAdvice(error)}`, { cause: error });
    }
    if (mustReadAgain(error)) throw commandRefused(tookTooLong, { cause: error });
    if (error instanceof TooLargeToCopy) {
      throw commandRefused(`${error.message}: ${tooLargeAdvice}`, { cause: error });
    }
    if (error instanceof Error && "syscall" in error) {
      if (isOfWrittenFile(error)) {
        throw new CommandFailure(`cannot write ${written}: ${fileFailureReason(error)}`, {
          exit: "unwritable",
          cause: error,
        });
      }
      const path = namesPath(error) ? error.path : (read ?? written);
      const reason = path === read ? unreadableFileReason(error) : fileFailureReason(error);
      throw new UsageError(`${path}: ${reason}`, { cause: error });
    }
    throw error;
  }
}
