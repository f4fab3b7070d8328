import { loopChannel } from "./loop-trace.ts";
import type { TracedReconcile } from "./loop-trace.ts";
import { requestChannel } from "./request-trace.ts";
import type { TracedRequest, RequestStep } from "./request-trace.ts";

/** The used part of pino's logger. */
interface TraceLog {
  isLevelEnabled(level: string): boolean;
  debug(fields: object, message: string): void;
}

/** With the level `debug`, logs a line for each request and each reconcile. Otherwise it does not subscribe. */
export function logTraces(log: TraceLog): void {
  if (!log.isLevelEnabled("debug")) return;
  requestChannel.subscribe((message) => {
    const { steps, traceparent: _, activity: _activity, ...request } = message as TracedRequest; // the channel's only kind of message
    log.debug({ ...request, steps: steps.map(stepText) }, "request");
  });
  loopChannel.subscribe((message) => {
    const { controller, key, outcome, microseconds } = message as TracedReconcile; // its only kind of message
    log.debug({ controller, key, outcome, microseconds }, "loop");
  });
}

const stepText = ({ step, decided, microseconds }: RequestStep): string =>
  `${step} ${microseconds} µs${decided === "" ? "" : `: ${decided}`}`;
