import type { Flags, FlagValues } from "./flag.ts";

/** What a process says of itself while it runs. */
export const logFlags = {
  "log-level": {
    type: "string",
    default: "info",
    choices: ["debug", "info", "warn", "error", "silent"],
    help: "What is logged.",
  },
} as const satisfies Flags;

export type LogLevel = FlagValues<typeof logFlags>["log-level"];
