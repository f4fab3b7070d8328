import { isatty } from "node:tty";
import pino from "pino";
import type { Logger } from "pino";
import { escapedInJson } from "../../api/json/escaped-in-json.ts";
import { logLineAsText } from "../../logging/log-line-as-text.ts";
import { loggedBug, loggedError } from "../../logging/logged-error.ts";
import { LineWriter } from "./line-writer.ts";
import { standardOutput } from "./log-output.ts";
import { endProcess } from "../../end-process.ts";

const maximumBytes = 1024 * 1024;

export type LogFormat = "text" | "json";

export interface LogSettings {
  readonly level: string;
  /** Undefined: text on a terminal, and JSON elsewhere. */
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
    { write: (line) => writer.write(format === "text" ? logLineAsText(line) : escapedInJson(line)) },
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
    endProcess(1);
  });
}

const isRefusalOfSystem = (error: Error): boolean => "syscall" in error && "errno" in error;

const waitingBytes = 4096;

/**
 * Returns a function that writes a line to the standard output of a long-running process, for example that it is ready. The console would
 * block the process while a pipe is full and its reader does not read. Here such lines wait, 4 KiB at most.
 */
export function openProcessOutput(): (line: string) => void {
  const writer = new LineWriter({ output: standardOutput(1), maximumBytes: waitingBytes });
  process.once("exit", () => writer.flushNow());
  return (line) => {
    writer.write(`${line}\n`);
    // The line must be written before the caller reports that it is ready.
    writer.flushNow();
  };
}
