import pino from "pino";
import type { Logger } from "pino";
import { LineWriter } from "./line-writer.ts";
import { standardOutput } from "./log-output.ts";

const maximumBytes = 1024 * 1024;

/**
 * The log of a long-running process: JSON lines on standard error. It never blocks and never ends the process, whoever
 * reads it: a full disk, a reader that stopped or has gone loses lines, and a line says later how many. Bugs that nobody
 * caught are logged here too, see `logFaults`.
 */
export function openProcessLog(level: string): Logger {
  const writer = new LineWriter({
    output: standardOutput(2),
    maximumBytes,
    flushMilliseconds: 0,
    onRecovered: (lostLines) => {
      if (lostLines > 0) log.warn({ lostLines }, "lines of this log were lost");
    },
  });
  const log = pino({ level, base: null }, { write: (line) => void writer.write(line) });
  process.once("exit", () => writer.flushAtExit());
  logFaults(log);
  return log;
}

/**
 * What nobody caught. A promise that nobody awaited is one failed piece of work: it is logged, and the process goes on. After
 * an exception out of a callback nobody knows what was left half done: it is logged, and the process ends with exit code 1,
 * to be started again; acknowledged writes are on disk. A refusal of the system (no descriptors, no room, a broken
 * connection) is no bug, and leaves nothing half done in memory: the process goes on.
 */
function logFaults(log: Logger): void {
  process.on("unhandledRejection", (error) => log.error({ err: error }, "a failure that nobody handled; going on"));
  process.on("uncaughtException", (error) => {
    if (isRefusalOfSystem(error)) {
      log.error({ err: error }, "the system refused something that nobody handled; going on");
      return;
    }
    log.fatal({ err: error }, "a bug: the process ends, and has to be started again");
    process.exit(1);
  });
}

const isRefusalOfSystem = (error: Error): boolean => "syscall" in error && "errno" in error;
