import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** Far more than a hook needs to write. A hook that repeats a question without end could fill the disk before its timeout. */
export const longestHookOutputBytes = 16 * 1024 * 1024;
/** A program that only writes fills a gigabyte a second. */
const checkIntervalMilliseconds = 10;

/**
 * Calls `onExcess` when the log has grown by more than `longestHookOutputBytes` since this call. By default, the log is standard error. A
 * pipe or a socket is not watched: its reader limits what it keeps, and makes the writer wait.
 */
export function watchLogGrowth(onExcess: () => void, logBytes = standardErrorBytes): { readonly stop: () => void } {
  const before = logBytes();
  if (before === undefined) return { stop: () => undefined };
  const timer = setInterval(() => {
    if ((logBytes() ?? 0) - before > longestHookOutputBytes) onExcess();
  }, checkIntervalMilliseconds);
  return { stop: () => clearInterval(timer) };
}

/**
 * Ends the last line of the log when a hook has left it without a line break, as `curl` does: the next line of the log would be a part of
 * it. Only in a file, because what has been written into a pipe cannot be read again.
 */
export function endLogLine(): void {
  const size = standardErrorBytes() ?? 0;
  if (size === 0) return;
  try {
    const log = openSync("/dev/fd/2", "r");
    try {
      const last = Buffer.alloc(1);
      if (readSync(log, last, 0, 1, size - 1) === 1 && last.toString() !== "\n") writeSync(2, "\n");
    } finally {
      closeSync(log);
    }
  } catch {
    // The agent may not read its log, or the disk is full.
  }
}

/** The size of standard error. Undefined when it is no file. */
function standardErrorBytes(): number | undefined {
  try {
    const status = fstatSync(2);
    return status.isFile() ? status.size : undefined;
  } catch {
    return undefined; // standard error is closed
  }
}
