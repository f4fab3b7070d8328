import { processLimit } from "../machinery/files/process-limit.ts";

/**
 * The number of files that this process may have open, including connections. Infinity when the system does not tell.
 */
export const openFileLimit = (): number => processLimit("Max open files");

/**
 * The maximum number of connections: as configured, but a quarter of the open files (at least 64) stays free for the
 * store, settings files and the log.
 */
export const connectionLimit = (wanted: number, openFiles: number): number =>
  Number.isFinite(openFiles)
    ? Math.max(1, Math.min(wanted, openFiles - Math.max(64, Math.ceil(openFiles / 4))))
    : wanted;
