import type { Logger } from "pino";
import { isDeepStrictEqual } from "node:util";

/** The values of a server's settings by the names of the flags. */
export type SettingValues = Readonly<Record<string, unknown>>;

export interface ReloadOptions {
  readonly log: Logger;
  /** Those that the server was started with, or that the last reload applied. */
  readonly before: SettingValues;
  /** Reads the settings again. Throws an error with one line for people. */
  readonly read: () => SettingValues;
  /** Changes how much is logged, in every process of the server. */
  readonly setLogLevel: (level: string) => void;
}

/**
 * Reads the settings again and applies those that can change while a server runs; the log says which, and which need a
 * restart. Returns the values to compare with next time. Settings that cannot be used change nothing.
 */
export function reloadSettings({ log, before, read, setLogLevel }: ReloadOptions): SettingValues {
  let now: SettingValues;
  try {
    now = read();
  } catch (error) {
    log.error({ reason: error instanceof Error ? error.message : String(error) }, "settings not reloaded");
    return before;
  }
  const changed = Object.keys(now).filter((name) => !isDeepStrictEqual(now[name], before[name]));
  const needRestart = changed.filter((name) => name !== "log-level");
  const level = now["log-level"];
  // Before the level changes, so that the line is not left out.
  log.info(
    { applied: changed.filter((name) => name === "log-level"), needRestart },
    "settings reloaded; files that settings name are read whenever they change",
  );
  if (typeof level === "string") setLogLevel(level);
  return { ...before, "log-level": level };
}
