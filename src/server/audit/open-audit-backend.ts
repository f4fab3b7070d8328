import type { Log } from "../../machinery/logging/log.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { monotonicClock, systemSchedule } from "../../machinery/api/clock.ts";
import { recoveryReport } from "../../machinery/audit/recovery-report.ts";
import { rateLimitedReport } from "../../machinery/logging/rate-limited-report.ts";
import type { AuditSink } from "../../machinery/audit/audit-requests.ts";
import { EventQueue } from "../../machinery/audit/event-queue.ts";
import type { LineTarget } from "../../machinery/audit/event-queue.ts";
import { queuedSink } from "../../machinery/audit/queued-sink.ts";
import type { QueuedSinkOptions } from "../../machinery/audit/queued-sink.ts";
import type { BackendSettings } from "./audit-settings.ts";

/** How long a stopping server waits for a blocked disk or a silent webhook. */
const closingMilliseconds = 2000;

/** An open backend: the sink for its events, and the number of events that were lost. */
export interface AuditBackend {
  /** The name of the target in metrics. */
  readonly name: "log" | "webhook";
  readonly sink: AuditSink;
  lost(): number;
  close(): Promise<void>;
}

interface OpenBackend {
  readonly name: AuditBackend["name"];
  readonly target: LineTarget;
  readonly backend: BackendSettings;
  readonly sink: Pick<QueuedSinkOptions, "format" | "hasAnnotations">;
  readonly afterFailure: "retry" | "drop";
  /** For the log. */
  readonly where: () => object;
  readonly log: Log;
}

/** Opens the queue of the events that wait for a target. Logs what is lost. */
export function openAuditBackend({ name, target, backend, sink, afterFailure, where, log }: OpenBackend): AuditBackend {
  let tooLarge = 0;
  const lost = (): number => queue.lost + tooLarge;
  const failed = rateLimitedReport<unknown>((error) => {
    const reason = messageOf(error);
    log.error({ ...where(), reason, lostEvents: lost() }, "cannot write audit events: those that cannot wait are lost");
  });
  const queue: EventQueue = new EventQueue({
    ...backend,
    target,
    schedule: systemSchedule,
    monotonic: monotonicClock,
    afterFailure,
    onFailure: failed,
    onRecovered: recoveryReport(systemSchedule, (lostEvents) =>
      log.warn({ ...where(), lostEvents }, "audit events are being written again"),
    ),
  });
  const flushAtExit = (): void => queue.deliverAtExit();
  process.once("exit", flushAtExit);
  return {
    name,
    sink: queuedSink({
      ...sink,
      queue,
      mode: backend.mode,
      maximumEventBytes: backend.maximumEventBytes,
      onTooLarge() {
        tooLarge++;
        failed(new Error("an event is larger than allowed without its bodies too"));
      },
    }),
    lost,
    async close() {
      const lostEvents = await queue.close({ withinMilliseconds: closingMilliseconds });
      process.off("exit", flushAtExit);
      if (lostEvents > 0) log.error({ ...where(), lostEvents }, "the last audit events could not be written");
    },
  };
}
