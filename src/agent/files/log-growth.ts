import { fstatSync } from "node:fs";

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

/** The size of standard error. Undefined when it is no file. */
function standardErrorBytes(): number | undefined {
  try {
    const status = fstatSync(2);
    return status.isFile() ? status.size : undefined;
  } catch {
    return undefined; // standard error is closed
  }
}
