import type { LogFormat, LogSettings } from "../../files/lines/process-log.ts";
import type { Flags, FlagValues } from "./flag.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

export const logFormats = ["text", "json"] as const satisfies readonly LogFormat[];

/** The flags of a process's log. */
export const logFlags = {
  "log-level": {
    type: "string",
    default: "info",
    choices: logLevels,
    help: "What is logged.",
    isReloadable: true,
  },
  "log-format": {
    type: "string",
    choices: logFormats,
    help: "How lines of the log are written. Default: text on a terminal, json elsewhere.",
  },
} as const satisfies Flags;

/** The settings of the log from its flags. */
export const logSettings = (values: FlagValues<typeof logFlags>): LogSettings => ({
  level: values["log-level"],
  format: values["log-format"],
});
