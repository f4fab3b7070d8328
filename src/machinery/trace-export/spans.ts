import { randomBytes } from "node:crypto";
import type { TracedClientRequest } from "../client/traced-transport.ts";
import type { TracedReconcile } from "../tracing/loop-trace.ts";
import type { TracedRequest } from "../tracing/request-trace.ts";
import type { Sampler } from "./trace-export-settings.ts";

/** The identity of a span, as the header `traceparent` carries it. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Parses the header `traceparent` (W3C Trace Context, section 3.2). Undefined for a missing or malformed header. */
export function parentSpanOf(traceparent: string | undefined): SpanContext | undefined {
  const [, version, traceId = "", spanId = "", flags = "", rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent ?? "") ?? [];
  const isKnown = version !== undefined && version !== "ff" && (version !== "00" || rest === undefined);
  if (!isKnown || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const traceparentOf = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;

/** Creates a span below a parent, or in a new trace. */
export function newSpan({ ratio, followsParent }: Sampler, parent: SpanContext | undefined): SpanContext {
  const traceId = parent?.traceId ?? newId(16);
  // By the trace id, so that every server makes the same decision about one trace.
  const isSampled =
    followsParent && parent !== undefined ? parent.isSampled : Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < ratio;
  return { traceId, spanId: newId(8), isSampled };
}

const newId = (bytes: number): string => randomBytes(bytes).toString("hex");

/** A span in OTLP's JSON. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: typeof internal | typeof server | typeof client;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly object[];
  readonly status: { readonly code?: 2 };
}

const internal = 1;
const server = 2;
const client = 3;

interface Placed {
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
}

/** The span of a request, and below it the spans of its steps. */
export function requestSpans(
  request: TracedRequest,
  { context: { traceId, spanId }, parent, endedAt }: Placed,
): Span[] {
  const { method, uri, user, status, auditId, microseconds, steps } = request;
  const end = endedAt * 1000;
  const begin = end - microseconds;
  const root: Span = {
    traceId,
    spanId,
    parentSpanId: parent?.spanId,
    name: method,
    kind: server,
    ...times(begin, end),
    attributes: attributes({
      "http.request.method": method,
      "url.path": uri.split("?", 1)[0] ?? "",
      "http.response.status_code": status,
      "enduser.id": user,
      "signet.audit_id": auditId,
    }),
    status: status >= 500 ? { code: 2 } : {},
  };
  // The steps follow one another and end with the request.
  let at = end - steps.reduce((total, step) => total + step.microseconds, 0);
  const children = steps.map(({ step, decided, microseconds: length }): Span => {
    const stepBegin = at;
    at += length;
    return {
      traceId,
      spanId: newId(8),
      parentSpanId: spanId,
      name: step,
      kind: internal,
      ...times(stepBegin, at),
      attributes: attributes({ "signet.decided": decided === "" ? undefined : decided }),
      status: {},
    };
  });
  return [root, ...children];
}

/** The span of one reconciliation of a control loop. */
export const loopSpan = (
  { controller, key, outcome, error, microseconds }: TracedReconcile,
  { context: { traceId, spanId }, endedAt }: Omit<Placed, "parent">,
): Span => ({
  traceId,
  spanId,
  name: controller,
  kind: internal,
  ...times(endedAt * 1000 - microseconds, endedAt * 1000),
  attributes: attributes({ "signet.key": key, "signet.outcome": outcome }),
  status: error === undefined ? {} : { code: 2 },
});

/** The span of a request to a server, until its answer began. */
export const clientSpan = (
  { method, path, startedAt, result, error }: TracedClientRequest,
  { context: { traceId, spanId }, parent, endedAt }: Placed,
): Span => ({
  traceId,
  spanId,
  parentSpanId: parent?.spanId,
  name: method,
  kind: client,
  ...times(endedAt * 1000 - Math.round((performance.now() - startedAt) * 1000), endedAt * 1000),
  attributes: attributes({
    "http.request.method": method,
    "url.path": path,
    "http.response.status_code": result?.status,
    "error.type": error instanceof Error ? error.name : undefined,
  }),
  status: result === undefined || result.status >= 400 ? { code: 2 } : {},
});

/** The times of a span, from microseconds since the epoch. They are texts, because a number cannot hold nanoseconds since the epoch. */
const times = (begin: number, end: number): Pick<Span, "startTimeUnixNano" | "endTimeUnixNano"> => ({
  startTimeUnixNano: `${Math.round(begin)}000`,
  endTimeUnixNano: `${Math.round(end)}000`,
});

/** Attributes in OTLP's JSON. Undefined values are omitted. */
export const attributes = (values: Readonly<Record<string, string | number | undefined>>): object[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } }],
  );
