import type { Logger } from "pino";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import type { logFlags } from "../../machinery/command-line/settings/log-flags.ts";
import { onReloadSignal } from "../../machinery/command-line/reload-signal.ts";

/** The values of a server's settings by the names of the flags. */
export type SettingValues = Readonly<Record<string, unknown>>;

interface ReloadOptions {
  readonly log: Logger;
  /** The settings that the server was started with, or that the last reload applied. */
  readonly before: SettingValues;
  /** Reads the settings again. Throws an error with one line for people. */
  readonly read: () => SettingValues;
  /** Changes how much is logged, and reads changed files again, in every process of the server. */
  readonly apply: (logLevel: string) => void;
}

/**
 * Reads the settings again and applies the settings that can change while a server runs. Logs which settings were applied, and which need a
 * restart. Also reads changed files that the settings name. Returns the values to compare with next time. Settings that cannot be used
 * change nothing, but the files are read all the same.
 */
export function reloadSettings({ log, before, read, apply }: ReloadOptions): SettingValues {
  const { after, report } = settingsAfter({ log, before, read });
  // The line is logged before or after the change of the level, so that it appears if one of the two levels shows it.
  const isEnabledBefore = log.isLevelEnabled("info");
  if (isEnabledBefore) report();
  apply(String(after[logLevel]));
  if (!isEnabledBefore) report();
  return after;
}

/** The only setting whose value is applied while the server runs (`isReloadable`). */
const logLevel = "log-level" satisfies keyof typeof logFlags;

interface Reread {
  readonly after: SettingValues;
  /** Logs what was applied, and what needs a restart. */
  readonly report: () => void;
}

function settingsAfter({ log, before, read }: Omit<ReloadOptions, "apply">): Reread {
  let now: SettingValues;
  try {
    now = read();
  } catch (error) {
    log.error({ reason: messageOf(error) }, "settings not reloaded");
    return { after: before, report: () => undefined };
  }
  const changed = Object.keys(now).filter((name) => !isDeepStrictEqual(now[name], before[name]));
  const [applied, needRestart] = [
    changed.filter((name) => name === logLevel),
    changed.filter((name) => name !== logLevel),
  ];
  return {
    after: { ...before, [logLevel]: now[logLevel] },
    report: () => log.info({ applied, needRestart }, "settings read again"),
  };
}

/** SIGHUP reads the settings again. */
export function reloadOnHangup(started: SettingValues, options: Omit<ReloadOptions, "before">): void {
  let settings = started;
  onReloadSignal(() => (settings = reloadSettings({ ...options, before: settings })));
}
