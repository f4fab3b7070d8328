import { encodeEvent, withoutBodies } from "./audit-event.ts";
import type { AuditEvent, AuditFormat } from "./audit-event.ts";
import type { AuditSink } from "./audit-requests.ts";
import type { EventQueue } from "./event-queue.ts";

/**
 * batch: requests never wait. blocking: a request waits until its events are written, but not for a disk or a server that hangs.
 * blocking-strict: a request is refused when its first event cannot be written.
 */
type AuditMode = "batch" | "blocking" | "blocking-strict";

export interface QueuedSinkOptions {
  readonly queue: EventQueue;
  readonly mode: AuditMode;
  readonly format: AuditFormat;
  readonly hasAnnotations?: boolean;
  /** Larger events lose their bodies; if they are still larger, they are lost. Undefined: no limit. */
  readonly maximumEventBytes: number | undefined;
  readonly onTooLarge: () => void;
}

/** Encodes events and adds them to a queue. The mode decides whether requests wait. */
export function queuedSink(options: QueuedSinkOptions): AuditSink {
  const { queue, mode } = options;
  return {
    record(event) {
      const line = fittingLine(event, options);
      if (line === undefined) return undefined;
      if (mode === "batch") {
        queue.add(line);
        return undefined;
      }
      if (mode === "blocking") return queue.attempt(line);
      return queue.deliver(line, { hasHappened: event.stage !== "RequestReceived" });
    },
  };
}

/** The line of an event, without its bodies if it is too large. Undefined: the event is too large even without them. */
function fittingLine(event: AuditEvent, options: QueuedSinkOptions): string | undefined {
  const { maximumEventBytes = Infinity, onTooLarge } = options;
  const line = encodeEvent(event, options);
  if (Buffer.byteLength(line) <= maximumEventBytes) return line;
  const shorter = encodeEvent(withoutBodies(event), options);
  if (Buffer.byteLength(shorter) <= maximumEventBytes) return shorter;
  onTooLarge();
  return undefined;
}
