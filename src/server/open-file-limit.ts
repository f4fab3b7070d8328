import { readFileSync } from "node:fs";

/** How many files this process may have open, connections included; unbounded where the system does not say. */
export function openFileLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * How many connections there may be: as many as are wanted, but a quarter of the files (64 at least) stays free for the store,
 * settings that are read again, and the log.
 */
export const connectionLimit = (wanted: number, openFiles: number): number =>
  Number.isFinite(openFiles)
    ? Math.max(1, Math.min(wanted, openFiles - Math.max(64, Math.ceil(openFiles / 4))))
    : wanted;
