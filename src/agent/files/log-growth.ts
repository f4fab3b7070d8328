import { fstatSync } from "node:fs";

/** Far more than a hook has to say. One that asks a question again and again would fill the disk in its minute. */
export const longestHookOutputBytes = 16 * 1024 * 1024;
const lookMilliseconds = 100;

/**
 * Calls `onExcess` when the log has grown by more than `longestHookOutputBytes` since now; by default, the log is standard error. What reads
 * a pipe or a socket there bounds what it keeps by itself, and lets the writer wait.
 */
export function watchLogGrowth(onExcess: () => void, logBytes = standardErrorBytes): { readonly stop: () => void } {
  const before = logBytes();
  if (before === undefined) return { stop: () => undefined };
  const timer = setInterval(() => {
    if ((logBytes() ?? 0) - before > longestHookOutputBytes) onExcess();
  }, lookMilliseconds);
  return { stop: () => clearInterval(timer) };
}

/** Undefined: it is no file. */
function standardErrorBytes(): number | undefined {
  try {
    const status = fstatSync(2);
    return status.isFile() ? status.size : undefined;
  } catch {
    return undefined; // it is closed
  }
}
