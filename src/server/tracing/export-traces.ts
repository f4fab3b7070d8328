import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { rateLimitedReport } from "../../machinery/api/rate-limited-report.ts";
import { systemSchedule } from "../../machinery/api/schedule.ts";
import { EventQueue } from "../../machinery/audit/event-queue.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import { loopChannel } from "../../machinery/tracing/loop-trace.ts";
import type { TracedReconcile } from "../../machinery/tracing/loop-trace.ts";
import { requestChannel } from "../../machinery/tracing/request-trace.ts";
import type { TracedRequest } from "../../machinery/tracing/request-trace.ts";
import { signetVersion } from "../signet-version.ts";
import { attributes, loopSpan, parentSpanOf, requestSpans, sampledTrace } from "./spans.ts";
import type { Span } from "./spans.ts";
import type { TraceExportSettings } from "./trace-export-settings.ts";

/** The part of pino's interface that is used here. */
export interface TraceExportLog {
  warn(fields: object, message: string): void;
}

const closingMilliseconds = 2000;

/**
 * Sends a trace of each request and of each run of a loop to an OpenTelemetry collector (OTLP over HTTP, as JSON). Nothing
 * waits for it: spans that cannot be sent are lost. Returns a function that sends what waits, and ends.
 */
export function exportTraces(settings: TraceExportSettings, log: TraceExportLog): () => Promise<void> {
  const { sampler, resource, maximumSpans, batchSpans, waitMilliseconds, url } = settings;
  const failed = rateLimitedReport<unknown>((error) =>
    log.warn(
      { collector: url.host, reason: error instanceof Error ? error.message : String(error), lostSpans: queue.lost },
      "cannot send traces: they are lost",
    ),
  );
  const head = `{"resource":${JSON.stringify({ attributes: attributes({ "service.version": signetVersion, ...resource }) })}`;
  const scope = JSON.stringify({ name: "signet", version: signetVersion });
  const send = sender(settings);
  const queue: EventQueue = new EventQueue({
    target: {
      deliver: (spans) =>
        send(`{"resourceSpans":[${head},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(",")}]}]}]}`),
      close: () => {},
    },
    schedule: systemSchedule,
    now: () => performance.now(),
    maximumEvents: maximumSpans,
    batchEvents: batchSpans,
    batchBytes: 4 * 1024 * 1024,
    waitMilliseconds,
    afterFailure: "drop",
    onFailure: failed,
    onRecovered: (lostSpans) => log.warn({ collector: url.host, lostSpans }, "traces are being sent again"),
  });
  const add = (spans: readonly Span[]): void => {
    for (const span of spans) queue.add(JSON.stringify(span));
  };
  const onRequest = (message: unknown): void => {
    const request = message as TracedRequest; // the channel's only kind of message
    const parent = parentSpanOf(request.traceparent);
    const traceId = sampledTrace(sampler, parent);
    if (traceId !== undefined) add(requestSpans(request, { traceId, parent, endedAt: Date.now() }));
  };
  const onLoop = (message: unknown): void => {
    const traceId = sampledTrace(sampler, undefined);
    if (traceId !== undefined) add([loopSpan(message as TracedReconcile, { traceId, endedAt: Date.now() })]); // its only kind
  };
  requestChannel.subscribe(onRequest);
  loopChannel.subscribe(onLoop);
  return async () => {
    requestChannel.unsubscribe(onRequest);
    loopChannel.unsubscribe(onLoop);
    await queue.close({ withinMilliseconds: closingMilliseconds });
  };
}

/** Posts one body at a time. Rejects with an Error when the collector has not taken it. */
function sender({
  url,
  headers,
  certificateFile,
  timeoutMilliseconds,
}: TraceExportSettings): (body: string) => Promise<void> {
  const isSecure = url.protocol === "https:";
  const agent = isSecure
    ? new https.Agent({
        keepAlive: true,
        ...(certificateFile !== undefined && { ca: readCertificates(certificateFile) }),
      })
    : new http.Agent({ keepAlive: true });
  return (body) =>
    new Promise((resolve, reject) => {
      const options = {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
        signal: AbortSignal.timeout(timeoutMilliseconds),
      };
      const request = (isSecure ? https : http).request(url, options, (response) => {
        const { statusCode = 0 } = response;
        response.resume().on("end", () => {
          if (statusCode >= 200 && statusCode < 300) resolve();
          else reject(new Error(`it answered ${statusCode}`));
        });
        response.on("error", reject);
      });
      request.on("error", reject).end(body);
    });
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(`OTEL_EXPORTER_OTLP_CERTIFICATE: cannot read ${file}: ${fileFailureReason(cause)}`, { cause });
  }
}
