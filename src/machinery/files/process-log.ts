import { isatty } from "node:tty";
import pino from "pino";
import type { Logger } from "pino";
import { jsonFields } from "../api/json-object.ts";
import { loggedBug, loggedError } from "../logging/logged-error.ts";
import { LineWriter } from "./line-writer.ts";
import { standardOutput } from "./log-output.ts";

const maximumBytes = 1024 * 1024;

export type LogFormat = "text" | "json";

export interface LogSettings {
  readonly level: string;
  /** Undefined: text on a terminal, for the person there; JSON elsewhere. */
  readonly format: LogFormat | undefined;
}

/**
 * The log of a long-running process: lines on standard error. It never blocks or ends the process. When the disk
 * is full or the reader stops, lines are lost, and a later line says how many. Uncaught errors are logged here too: see
 * `logFaults`.
 */
export function openProcessLog({ level, format = isatty(2) ? "text" : "json" }: LogSettings): Logger {
  const writer = new LineWriter({
    output: standardOutput(2),
    maximumBytes,
    onRecovered: (lostLines) => {
      if (lostLines > 0) log.warn({ lostLines }, "lines of this log were lost");
    },
  });
  const log = pino(
    { level, base: null, serializers: { err: (err: unknown) => (err instanceof Error ? loggedError(err) : err) } },
    { write: (line) => writer.write(format === "text" ? logLineAsText(line) : line) },
  );
  process.once("exit", () => writer.flushNow());
  logFaults(log);
  return log;
}

/**
 * Handles uncaught errors. An unhandled rejection means that one piece of work failed: it is logged, and the process
 * continues. After an exception from a callback, the state may be half changed: it is logged, and the process exits
 * with code 1, so that its supervisor restarts it. Acknowledged writes are on disk. An error of the operating system
 * (no descriptors, no space, a broken connection) is not a bug and leaves no half-changed state: the process continues.
 */
function logFaults(log: Logger): void {
  process.on("unhandledRejection", (error) =>
    log.error({ err: loggedBug(error) }, "an unhandled rejection; the process continues"),
  );
  process.on("uncaughtException", (error) => {
    if (isRefusalOfSystem(error)) {
      log.error({ err: error }, "an unhandled system error; the process continues");
      return;
    }
    log.fatal({ err: loggedBug(error) }, "a bug: the process ends and must be restarted");
    process.exit(1);
  });
}

const isRefusalOfSystem = (error: Error): boolean => "syscall" in error && "errno" in error;

const levels: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "FATAL",
};

/** What could control a terminal, or make a line look like two: other people's text is in the values. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const plainValue = /^[\w.:@/+*,-]+$/;

/**
 * A JSON line of the log as a person reads it: time (UTC), level, message, then the fields. A stack is shown only for what
 * ends the process; everything else says in its message what to do.
 */
export function logLineAsText(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>; // pino's own line
  const word = levels[Number(level)] ?? String(level);
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${valueText(name, value)}`);
  const stack = word === "FATAL" ? stackOf(fields["err"]) : "";
  const head = `${new Date(Number(time)).toISOString()} ${word.padEnd(5)} ${escaped(typeof msg === "string" ? msg : "")}`;
  return `${[head, ...shown].join("  ")}\n${stack}`;
}

function valueText(name: string, value: unknown): string {
  const said = name === "err" ? messageOf(value) : value;
  if (typeof said === "string") return plainValue.test(said) ? said : escaped(JSON.stringify(said));
  if (Array.isArray(said) && said.every((one) => typeof one === "string"))
    return escaped(JSON.stringify(said.join(", ")));
  return escaped(JSON.stringify(said) ?? "");
}

const messageOf = (error: unknown): unknown => jsonFields(error)["message"] ?? error;

function stackOf(error: unknown): string {
  const { stack } = jsonFields(error);
  if (typeof stack !== "string") return "";
  return stack
    .split("\n")
    .map((one) => `    ${escaped(one)}\n`)
    .join("");
}

const escaped = (text: string): string =>
  text.replace(steering, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

const waitingBytes = 4096;

/**
 * Returns what writes a line to the standard output of a long-running process, such as that it is ready. The console
 * would block the process while a pipe is full and its reader does not read. Here such lines wait, 4 KiB at most.
 */
export function openProcessOutput(): (line: string) => void {
  const writer = new LineWriter({ output: standardOutput(1), maximumBytes: waitingBytes });
  process.once("exit", () => writer.flushNow());
  return (line) => {
    writer.write(`${line}\n`);
    // Before its caller tells others that it is ready.
    writer.flushNow();
  };
}
