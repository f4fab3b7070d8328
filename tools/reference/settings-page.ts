/** The configuration reference: the settings of the server. */
import type { Flag, Flags } from "../../src/machinery/command-line/settings/flag.ts";
import { serveFlags } from "../../src/server/settings/server-config.ts";
import { cell, code, page, table } from "./markdown.ts";

const notice = "<!-- Written by `npm run docs:settings` from the flags. Do not edit. -->";

/** `docs/reference/settings.md`. */
export const settingsPage = (): string =>
  page(
    "# Settings of the server",
    notice,
    "Each setting is a flag of `signet serve` (`--secure-port 6443`), an environment variable " +
      "(`SIGNET_SECURE_PORT=6443`), or a key of the YAML file that `--config FILE` or `SIGNET_CONFIG` names " +
      "(`secure-port: 6443`). Flags come first, then variables, then the file, then the defaults. A wrong setting ends the command with " +
      "one line and [exit code](commands.md#exit-codes) 2. `signet serve --help` shows the same text, and " +
      "`npm start -- FLAGS` is `signet serve FLAGS`.",
    "A duration is a number with a unit, or some of them: `90s`, `10m`, `24h`, `30d`, `1d12h`.",
    "**Changes.** A new value needs a restart, unless the column says otherwise. *file*: the file is looked at every second and " +
      "when the server gets SIGHUP; what has changed is used from then on, and while it cannot be used, the last good contents stay. " +
      "*SIGHUP*: the signal applies a new value of the setting. See [Reload](../operations.md#reload).",
    flagTable(serveFlags),
  );

const flagTable = (flags: Flags): string =>
  table(
    ["setting", "type", "default", "changes", "what for"],
    Object.entries(flags).map(([name, flag]) => [
      code(name),
      valueText(flag),
      defaultText(flag),
      changesText(flag),
      cell(flag.help),
    ]),
  );

function valueText(flag: Flag): string {
  switch (flag.type) {
    case "string":
      return flag.choices === undefined ? "text" : flag.choices.map(code).join(", ");
    case "strings":
      return flag.hasCommasInTexts ? "list, repeated" : "list, with commas or repeated";
    case "boolean":
      return "`true` or `false`";
    case "integer":
      return `${flag.minimum} to ${flag.maximum}`;
    case "duration":
      return "duration (`90s`, `10m`, `24h`, `30d`)";
    case "file":
      return "file";
  }
}

function changesText(flag: Flag): string {
  if ("isFollowed" in flag) return "file";
  return "isReloadable" in flag ? "SIGHUP" : "";
}

const defaultText = (flag: Flag): string =>
  "default" in flag && flag.default !== undefined ? code(String(flag.default)) : "";
