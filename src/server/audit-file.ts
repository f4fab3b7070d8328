import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import { rateLimitedReport } from "../machinery/api/rate-limited-report.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { LineWriter } from "../machinery/files/line-writer.ts";
import { openLogFile, standardOutput } from "../machinery/files/log-output.ts";
import type { LogOutput } from "../machinery/files/log-output.ts";
import { createAuditLog } from "../machinery/http/audit.ts";
import type { AuditLog } from "../machinery/http/audit.ts";
import type { AuditCounts } from "../machinery/http/metrics.ts";

/** The maximum number of events that wait when the disk is full or the reader is slow. */
const maximumBytes = 16 * 1024 * 1024;
/** How long events may wait in memory: SIGKILL loses them. */
const flushMilliseconds = 100;
/** How long the stopping server waits for a blocked disk. */
const closingMilliseconds = 2000;

export interface AuditFile extends AuditLog {
  counts(): AuditCounts;
  close(): Promise<void>;
}

/**
 * Appends audit events to the file of `--audit-log-path` (0600), or to standard output. Requests never wait for it.
 * Events that cannot be written wait in memory. When there are too many, they are dropped and counted. Undefined
 * without a path. Throws UsageError for a path that cannot be written.
 */
export function openAuditFile(path: string | undefined, { clock, log }: AuditFileOptions): AuditFile | undefined {
  if (path === undefined) return undefined;
  const failed = rateLimitedReport<unknown>((error) => {
    const reason = error instanceof Error ? error.message : String(error);
    log.error(
      { path, reason, lostEvents: writer.lostLines },
      "cannot write audit events: they wait in memory, and are dropped when there are too many",
    );
  });
  const writer = new LineWriter({
    output: path === "-" ? standardOutput(1) : openOutput(path),
    maximumBytes,
    flushMilliseconds,
    onFailure: failed,
    onRecovered: (lostEvents) => log.warn({ path, lostEvents }, "audit events are being written again"),
  });
  process.once("exit", flushAtExit);
  function flushAtExit(): void {
    writer.flushAtExit();
  }
  let events = 0;
  return {
    ...createAuditLog({
      clock,
      write(line) {
        events++;
        writer.write(line);
      },
    }),
    counts: () => ({ events, errors: writer.lostLines }),
    async close() {
      const lostEvents = await writer.close({ withinMilliseconds: closingMilliseconds });
      process.off("exit", flushAtExit);
      if (lostEvents > 0) log.error({ path, lostEvents }, "the last audit events could not be written");
    },
  };
}

interface AuditFileOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

function openOutput(path: string): LogOutput {
  try {
    return openLogFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--audit-log-path: cannot write ${path}: ${reason}`, { cause });
  }
}
