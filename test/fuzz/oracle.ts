import { isUtf8 } from "node:buffer";
import { parse } from "yaml";
import { decodeEnvelope } from "../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { FuzzAnswer, FuzzRequest } from "./fuzz-request.ts";

const mebibyte = 1024 * 1024;
/** What one object may be, as it is stored. */
const objectBytes = 1.5 * mebibyte;
/** A series takes 6 KiB. There is one for each resource, verb and scope that was asked for, with and without a dry run. */
const metricsBytes = 16 * mebibyte;
/** The listener takes 512; clients add some themselves. */
const maximumHeaders = 500;
/** The listener takes 64 KiB. A request that is refused before it has been read may lose its answer. */
const maximumHeadBytes = 60_000;
/** Declared refusals for a while: a timeout, too many requests, no turn. */
const declaredFailures: ReadonlySet<number> = new Set([503, 504]);

/** The fault of the answer to an input, in the same words for the same fault. Undefined: no fault. */
export function faultOf(request: FuzzRequest, answer: FuzzAnswer): string | undefined {
  const { status, body, isStream } = answer;
  if (status === 0) return isMalformed(request) ? undefined : "the connection was closed without an answer";
  if (status < 200 || status > 599) return `status ${status}`;
  if (status >= 500 && !declaredFailures.has(status)) return `status ${status}`;
  if (isStream || request.method === "HEAD") return undefined;
  if (body.length > boundOf(request, answer)) return `an answer over the bound with status ${status}`;
  const value = readBody(answer);
  if (value === unreadable) return `an answer that is not what its content-type says, with status ${status}`;
  if (status >= 400) return statusFault(request, answer, value);
  if (containsLoneSurrogate(value)) return "an answer with a lone surrogate in it";
  return undefined;
}

/** Whether HTTP itself allows to end the connection or the stream (RFC 9112 2.2 and 6.3, RFC 9113 8.1.1 and 10.5.1). */
export const isMalformed = ({ target, headers, framing }: FuzzRequest): boolean =>
  framing !== "length" ||
  headers.length > maximumHeaders ||
  target.length + headers.flat().join("").length > maximumHeadBytes ||
  headers.some(([name, value]) => controlCharacter.test(name + value));

/** Every control character but the tab. */
const controlCharacter = /(?!\t)\p{Cc}/u;

/** 1 MiB, and the objects or the metrics that are in the answer. */
function boundOf({ target }: FuzzRequest, { status, body }: FuzzAnswer): number {
  if (status >= 400) return mebibyte;
  if (target.startsWith("/metrics")) return metricsBytes;
  if (body.length <= mebibyte + objectBytes) return body.length;
  const value: unknown = body[0] === 0x7b ? JSON.parse(body.toString()) : undefined;
  const items =
    (value as { readonly items?: readonly unknown[]; readonly rows?: readonly unknown[] } | undefined) ?? {};
  return mebibyte + objectBytes * Math.max(1, items.items?.length ?? items.rows?.length ?? 1);
}

const unreadable = Symbol("unreadable");

/** The parsed body; text that has no format stays text. */
function readBody({ headers, body }: FuzzAnswer): unknown {
  if (headers.has("content-encoding")) return undefined;
  const type = headers.get("content-type") ?? "";
  try {
    if (type.includes("protobuf"))
      return body.length === 0 || type.includes("openapi") ? undefined : decodeEnvelope(body);
    if (!isUtf8(body)) return unreadable;
    if (type.includes("json")) return JSON.parse(body.toString()) as unknown;
    if (type.includes("yaml")) return parse(body.toString(), { maxAliasCount: 0 }) as unknown;
    return body.toString();
  } catch {
    return unreadable;
  }
}

/** Errors must be a Status with the same code and a message. Only refusals of HTTP itself are text. */
function statusFault({ target }: FuzzRequest, { status }: FuzzAnswer, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string") {
    const isPlain = /^\d{3} [A-Za-z ]+\n?$/.test(value) || value === "404 page not found\n";
    return isPlain || value === "" || !/^\/apis?\//.test(target) ? undefined : `status ${status} without a Status`;
  }
  const { kind, code, message, raw } = value as {
    readonly kind?: unknown;
    readonly code?: unknown;
    readonly message?: unknown;
    readonly raw?: unknown;
  };
  if (kind !== "Status") return `status ${status} without a Status`;
  if (raw !== undefined) return undefined;
  if (code !== status) return `status ${status} with a Status of another code`;
  return typeof message === "string" && message !== "" ? undefined : `status ${status} without a message`;
}

/** Strict readers refuse a whole list for one such text. */
function containsLoneSurrogate(value: unknown): boolean {
  const rest: unknown[] = [value];
  for (let next = rest.pop(); next !== undefined || rest.length > 0; next = rest.pop()) {
    if (typeof next === "string" && !next.isWellFormed()) return true;
    if (typeof next !== "object" || next === null || Buffer.isBuffer(next)) continue;
    for (const [key, member] of Object.entries(next)) {
      if (!key.isWellFormed()) return true;
      if (typeof member === "string" || typeof member === "object") rest.push(member);
    }
  }
  return false;
}
