import { statSync } from "node:fs";
import { periodically } from "../scheduling/periodically.ts";
import type { LineLinks } from "../files/lines/appended-file.ts";
import { AppendedFile } from "../files/lines/appended-file.ts";
import { SqliteLock } from "../files/locks/sqlite-lock.ts";
import { LogBackups } from "../files/lines/log-backups.ts";
import type { LogBackupsOptions } from "../files/lines/log-backups.ts";
import { openLogFile, standardOutput } from "../files/lines/log-output.ts";
import { StreamOutput } from "../files/lines/stream-output.ts";
import type { LineTarget } from "./event-queue.ts";

export interface FileTargetOptions extends Pick<
  LogBackupsOptions,
  "maximumAgeMilliseconds" | "isCompressed" | "clock" | "monotonic"
> {
  /** `-` is standard output. */
  readonly path: string;
  /** Locked by one of several processes of a server while it writes, and while it removes and compresses backups. */
  readonly lockFile: string;
  readonly tidyLockFile: string;
  /** A file that a write would make larger than this is moved away first. 0: never. */
  readonly maximumBytes: number;
  /** 0: no limit. */
  readonly maximumBackups: number;
  readonly chain: FileChain | undefined;
  /** Called when backups could not be compressed or removed. */
  readonly onTidyFailure: (error: unknown) => void;
}

export interface FileChain {
  readonly links: LineLinks & { readonly isUnsigned: boolean; close(): void };
  readonly checkpointMilliseconds: number;
}

/** How often to look for backups that have become too old. */
const tidyMilliseconds = 3_600_000;

/** Writes events to a file that is rotated, or to standard output, a pipe or a device. Throws the system's error. */
export function fileTarget(options: FileTargetOptions): LineTarget {
  const { path } = options;
  const isFile = path !== "-" && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true);
  return isFile ? rotatedFile(options) : streamTarget(path);
}

function streamTarget(path: string): LineTarget {
  const stream = new StreamOutput(path === "-" ? standardOutput(1) : openLogFile(path, { tornLine: "end" }));
  return {
    deliver: (lines) => stream.write(lines),
    deliverAtExit: (lines) => stream.writeNow(lines),
    close: () => stream.close(),
  };
}

function rotatedFile(options: FileTargetOptions): LineTarget {
  const { clock, onTidyFailure, chain } = options;
  const lock = new SqliteLock(options.lockFile);
  const tidyLock = new SqliteLock(options.tidyLockFile);
  const backups = new LogBackups({ ...options, maximumCount: options.maximumBackups, lock: tidyLock });
  let tidying: Promise<void> | undefined;
  const tidy = (): void => {
    tidying ??= backups
      .tidy()
      .catch(onTidyFailure)
      .finally(() => (tidying = undefined));
  };
  const file = new AppendedFile({ ...options, links: chain?.links, lock, now: () => clock.now(), onMoved: tidy });
  // One write at a time.
  let writing: Promise<void> = Promise.resolve();
  const append = (lines: readonly string[]): Promise<void> => {
    const appending = writing.then(() => file.append(lines));
    writing = appending.catch(() => {});
    return appending;
  };
  const checkpoints =
    chain &&
    periodically({
      milliseconds: chain.checkpointMilliseconds,
      // When others write and move files while this process has no events, it must know the last line of each file, to go on after it.
      task: () => (chain.links.isUnsigned || file.isMoved ? append([]) : undefined),
      onFailure: () => {}, // the next events fail too, and that is reported
    });
  const tidyings =
    options.maximumBytes > 0
      ? periodically({ milliseconds: tidyMilliseconds, task: tidy, onFailure: onTidyFailure })
      : undefined;
  // For backups that an earlier process did not finish, or that became too old while no process ran.
  if (tidyings !== undefined) tidy();
  return {
    deliver: append,
    deliverAtExit: (lines) => file.appendNow(lines),
    async close() {
      checkpoints?.stop();
      tidyings?.stop();
      await writing;
      try {
        file.close();
      } finally {
        await tidying;
        chain?.links.close();
        lock.release();
        tidyLock.release();
      }
    },
  };
}
