import type { LogSettings } from "../files/process-log.ts";
import type { Flags, FlagValues } from "./flag.ts";

/** The flags of a process's log. */
export const logFlags = {
  "log-level": {
    type: "string",
    default: "info",
    choices: ["debug", "info", "warn", "error", "silent"],
    help: "What is logged.",
    isReloadable: true,
  },
  "log-format": {
    type: "string",
    choices: ["text", "json"],
    help: "How lines of the log are written. Default: text on a terminal, json elsewhere.",
  },
} as const satisfies Flags;

/** What is logged, and how. */
export const logSettings = (values: FlagValues<typeof logFlags>): LogSettings => ({
  level: values["log-level"],
  format: values["log-format"],
});
