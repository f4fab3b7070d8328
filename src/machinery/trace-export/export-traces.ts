import http from "node:http";
import https from "node:https";
import { messageOf } from "../api/thrown-error.ts";
import { tlsFailure } from "../api/tls-failure.ts";
import { rateLimitedReport } from "../logging/rate-limited-report.ts";
import { monotonicClock, systemSchedule } from "../api/clock.ts";
import { boundInterimAnswers } from "../client/https/bound-interim-answers.ts";
import { ProxyAgent } from "../client/https/proxy-agent.ts";
import { EventQueue } from "../audit/event-queue.ts";
import { recoveryReport } from "../audit/recovery-report.ts";
import { UsageError } from "../command-line/settings/flag.ts";
import { FollowedValue } from "../files/followed/followed-value.ts";
import { readRegularFile } from "../files/regular-file.ts";
import type { RegularFile } from "../files/regular-file.ts";
import { unreadableFileReason } from "../files/unusable-file.ts";
import type { Activity } from "../tracing/activity.ts";
import { clientChannel } from "../client/traced-transport.ts";
import type { TracedClientRequest } from "../client/traced-transport.ts";
import { loopChannel } from "../tracing/loop-trace.ts";
import type { TracedReconcile } from "../tracing/loop-trace.ts";
import { requestChannel, RequestTrace } from "../tracing/request-trace.ts";
import type { TracedRequest } from "../tracing/request-trace.ts";
import { attributes, clientSpan, loopSpan, newSpan, parentSpanOf, requestSpans, traceparentOf } from "./spans.ts";
import type { Span, SpanContext } from "./spans.ts";
import type { TraceExportSettings } from "./trace-export-settings.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import type { Log } from "../logging/log.ts";

type ExportLog = Pick<Log, "info" | "warn" | "error">;

const closingMilliseconds = 2000;
const largestAnswerBytes = 1024 * 1024;
const largestCertificatesBytes = 1024 * 1024;

/**
 * Sends a trace of each request, of each run of a control loop, and of the requests that these send to servers, to an OpenTelemetry
 * collector (OTLP over HTTP, as JSON). No request waits for the export: spans that cannot be sent are lost. Returns a function that sends
 * the waiting spans and ends the export.
 */
export function exportTraces(settings: TraceExportSettings, log: ExportLog): () => Promise<void> {
  const { sampler } = settings;
  const queue = spanQueue(settings, log);
  const add = (spans: readonly Span[]): void => {
    for (const span of spans) queue.add(JSON.stringify(span));
  };
  /** The spans of running activities, which are the parents of the spans of their requests. */
  const spans = new WeakMap<Activity, SpanContext>();
  const spanOf = (activity: Activity, parent: SpanContext | undefined): SpanContext => {
    const known = spans.get(activity) ?? newSpan(sampler, parent);
    spans.set(activity, known);
    return known;
  };
  const clients = new WeakMap<TracedClientRequest, Readonly<Record<"context" | "parent", SpanContext | undefined>>>();
  const onRequest = (message: unknown): void => {
    const request = message as TracedRequest; // the channel's only kind of message
    const parent = parentSpanOf(request.traceparent);
    const context = spanOf(request.activity, parent);
    if (!context.isSampled) return;
    request.exportedAs = context.traceId;
    add(requestSpans(request, { context, parent, endedAt: Date.now() }));
  };
  const onLoop = (message: unknown): void => {
    const reconcile = message as TracedReconcile; // its only kind of message
    const context = spanOf(reconcile.activity, undefined);
    if (context.isSampled) add([loopSpan(reconcile, { context, endedAt: Date.now() })]);
  };
  const onClientStart = (message: unknown): void => {
    const request = message as TracedClientRequest; // its only kind of message
    const { activity } = request;
    const caller = activity instanceof RequestTrace ? parentSpanOf(activity.traceparent) : undefined;
    const parent = activity && spanOf(activity, caller);
    const context =
      parent === undefined ? newSpan(sampler, undefined) : { ...newSpan(sampler, parent), isSampled: parent.isSampled };
    clients.set(request, { context, parent });
    request.traceparent = traceparentOf(context);
  };
  const onClientEnd = (message: unknown): void => {
    const request = message as TracedClientRequest; // its only kind of message
    const { context, parent } = clients.get(request) ?? {};
    if (context?.isSampled === true) add([clientSpan(request, { context, parent, endedAt: Date.now() })]);
  };
  requestChannel.subscribe(onRequest);
  loopChannel.subscribe(onLoop);
  clientChannel.start.subscribe(onClientStart);
  clientChannel.asyncEnd.subscribe(onClientEnd);
  return async () => {
    requestChannel.unsubscribe(onRequest);
    loopChannel.unsubscribe(onLoop);
    clientChannel.start.unsubscribe(onClientStart);
    clientChannel.asyncEnd.unsubscribe(onClientEnd);
    await queue.close({ withinMilliseconds: closingMilliseconds });
  };
}

/** Collects encoded spans, and posts each batch as one OTLP request. A batch that cannot be sent is lost, which is logged. */
function spanQueue(settings: TraceExportSettings, log: ExportLog): EventQueue {
  const { resource, version, maximumSpans, batchSpans, waitMilliseconds, url } = settings;
  const head = `{"resource":${JSON.stringify({ attributes: attributes({ "service.version": version, ...resource }) })}`;
  const scope = JSON.stringify({ name: "signet", version });
  const closing = new AbortController();
  const send = sender(settings, { closing: closing.signal, log });
  const queue: EventQueue = new EventQueue({
    target: {
      deliver: (spans) =>
        send(`{"resourceSpans":[${head},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(",")}]}]}]}`),
      isInterruptible: true,
      close: () => closing.abort(),
    },
    schedule: systemSchedule,
    monotonic: monotonicClock,
    maximumEvents: maximumSpans,
    batchEvents: batchSpans,
    batchBytes: 4 * 1024 * 1024,
    waitMilliseconds,
    afterFailure: "drop",
    onFailure: rateLimitedReport<unknown>((error) =>
      log.warn(
        { collector: url.host, reason: tlsFailure(error, { authorities: certificateSetting }), lostSpans: queue.lost },
        "cannot send traces: they are lost",
      ),
    ),
    onRecovered: recoveryReport(systemSchedule, (lostSpans) =>
      log.warn({ collector: url.host, lostSpans }, "traces are being sent again"),
    ),
  });
  return queue;
}

/**
 * Posts one body at a time; HTTPS goes through the proxy of the environment. Rejects with an Error when the collector has not accepted the
 * body. A running request does not keep the process alive.
 */
function sender(
  { url, headers, certificateFile, timeoutMilliseconds }: TraceExportSettings,
  { closing, log }: { readonly closing: AbortSignal; readonly log: ExportLog },
): (body: string) => Promise<void> {
  const proxied = url.protocol === "https:" ? new ProxyAgent({ server: url.href }, { keepAlive: true }) : undefined;
  const agent = proxied ?? new http.Agent({ keepAlive: true });
  const authorities =
    proxied === undefined || certificateFile === undefined ? undefined : followCertificates(certificateFile, log);
  return (body) =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMilliseconds)]);
      authorities?.refresh({ isForced: false });
      const options = {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
        signal,
        ...(authorities !== undefined && { ca: authorities.current }),
      };
      const request = (proxied === undefined ? http : https).request(url, options, (response) => {
        const { statusCode = 0 } = response;
        let bytes = 0;
        response.on("data", ({ length }: Buffer) => {
          if ((bytes += length) > largestAnswerBytes) response.destroy(new Error("its answer is larger than 1 MiB"));
        });
        response.on("end", () => {
          if (statusCode >= 200 && statusCode < 300) resolve();
          else reject(new Error(`it answered ${statusCode}`));
        });
        response.on("error", reject);
      });
      request.on("socket", (socket) => socket.unref());
      boundInterimAnswers(request, "information");
      request.on("error", reject).end(body);
      // Node.js closes a connection that changes its protocol (101) without an answer, and without an error.
      request.on("close", () => reject(new Error("it closed the connection without an answer")));
      proxied?.boundTunnel(request, { signal, milliseconds: timeoutMilliseconds, onEnded: reject });
    });
}

const certificateSetting = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/** The collector's CAs, which may be renewed while this process runs. Throws UsageError for a file that cannot be used now. */
const followCertificates = (file: string, log: ExportLog): FollowedValue<Buffer> =>
  new FollowedValue(
    { setting: certificateSetting, files: () => [file], load: () => readCertificates(file) },
    { log, unusable: new Set() },
  );

function readCertificates(file: string): Buffer {
  let read: RegularFile | undefined;
  try {
    read = readRegularFile(file, { largestBytes: largestCertificatesBytes });
  } catch (cause) {
    throw new UsageError(`${certificateSetting}: cannot read ${file}: ${unreadableFileReason(cause)}`, { cause });
  }
  if (read === undefined)
    throw new UsageError(`${certificateSetting}: ${file} is not a file of at most 1 MiB; name a PEM file`);
  try {
    if (parseCertificatesPem(read.contents).length > 0) return read.contents;
  } catch (cause) {
    throw new UsageError(`${certificateSetting}: ${file}: ${messageOf(cause)}`, { cause });
  }
  throw new UsageError(`${certificateSetting}: ${file} holds no certificate; name a PEM file of certificates`);
}
