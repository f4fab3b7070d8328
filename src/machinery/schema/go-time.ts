import { maximumShownLength } from "../api/text/format-value.ts";
import { TypeMismatch } from "./decode-faults.ts";

const secondsLayout = "2006-01-02T15:04:05Z07:00";
const microsecondsLayout = "2006-01-02T15:04:05.000000Z07:00";

/** A point in time, like Go's `time.Time`. */
export interface GoTime {
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** Parses an RFC 3339 time like Go's `time.Parse(time.RFC3339, text)`. Throws a TypeMismatch with Go's message. */
export const parseTime = (text: string): GoTime =>
  canonicalTime.test(text)
    ? { seconds: Date.parse(text) / 1000, nanoseconds: 0 }
    : new LayoutReader(text, secondsLayout).read();

/** Like `parseTime`, for times with exactly six digits after the second (upstream: `metav1.RFC3339Micro`). */
export const parseMicroTime = (text: string): GoTime =>
  canonicalMicroTime.test(text)
    ? { seconds: Date.parse(`${text.slice(0, 19)}Z`) / 1000, nanoseconds: Number(text.slice(20, 26)) * 1000 }
    : new LayoutReader(text, microsecondsLayout).read();

/** Formats a time as Kubernetes does: RFC 3339, UTC, whole seconds. */
export const formatTime = ({ seconds }: GoTime): string => `${isoSeconds(seconds)}Z`;

/** RFC 3339, UTC, six digits after the second. */
export const formatMicroTime = ({ seconds, nanoseconds }: GoTime): string =>
  `${isoSeconds(seconds)}.${String(Math.floor(nanoseconds / 1000)).padStart(6, "0")}Z`;

const isoSeconds = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);

/** Days and times of the day as they are written most. February 29 needs the full parser. */
const usualSecond =
  /(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}/
    .source;
/** Times that are already canonical. */
const canonicalTime = new RegExp(`^${usualSecond}Z$`);
const canonicalMicroTime = new RegExp(`^${usualSecond}\\.\\d{6}Z$`);

/**
 * Returns the time in canonical form (UTC, whole seconds), or null for Go's zero time. Throws a TypeMismatch with Go's
 * message.
 */
export const normalizeTime = (text: string): string | null =>
  canonicalTime.test(text) && text !== zeroTime ? text : formatted(parseTime(text), formatTime);

/**
 * Returns the time in canonical form (UTC, microseconds), or null for Go's zero time. Throws a TypeMismatch with Go's
 * message.
 */
export const normalizeMicroTime = (text: string): string | null =>
  canonicalMicroTime.test(text) && text !== zeroMicroTime ? text : formatted(parseMicroTime(text), formatMicroTime);

/** How Kubernetes formats a time that is not set. */
export const zeroTime = "0001-01-01T00:00:00Z";
const zeroMicroTime = "0001-01-01T00:00:00.000000Z";
/** The years 1 to 9999: the range of RFC 3339. */
const minimumSeconds = -62_135_596_800;
const maximumSeconds = 253_402_300_799;

export const isZeroTime = ({ seconds, nanoseconds }: GoTime): boolean =>
  seconds === minimumSeconds && nanoseconds === 0;

/** Whether RFC 3339 can express the time. */
export const isWritableTime = ({ seconds, nanoseconds }: GoTime): boolean =>
  seconds >= minimumSeconds && seconds <= maximumSeconds && nanoseconds >= 0 && nanoseconds < 1e9;

function formatted(time: GoTime, format: (time: GoTime) => string): string | null {
  if (isZeroTime(time)) return null;
  if (!isWritableTime(time)) throw new TypeMismatch("year outside of range [1,9999]");
  return format(time);
}

/** Follows Go's time layout, limited to the elements of RFC 3339. Go's errors name the element that failed. */
class LayoutReader {
  readonly #text: string;
  readonly #layout: string;
  #rest: string;

  constructor(text: string, layout: string) {
    this.#text = text;
    this.#layout = layout;
    this.#rest = text;
  }

  read(): GoTime {
    const year = this.#year();
    this.#literal("-");
    const month = this.#number({ element: "01", minimum: 1, maximum: 12, word: "month" });
    this.#literal("-");
    const day = this.#number({ element: "02", minimum: 0, maximum: 99, word: "day" });
    this.#literal("T");
    const hour = this.#number({ element: "15", minimum: 0, maximum: 23, word: "hour", mayBeOneDigit: true });
    this.#literal(":");
    const minute = this.#number({ element: "04", minimum: 0, maximum: 59, word: "minute" });
    this.#literal(":");
    const second = this.#number({ element: "05", minimum: 0, maximum: 59, word: "second" });
    const nanoseconds = this.#fraction();
    const offsetSeconds = this.#zone();
    if (this.#rest !== "") throw this.#fault(`: extra text: ${timeQuoted(this.#rest)}`);
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    if (day < 1 || date.getUTCMonth() !== month - 1) throw this.#fault(": day out of range");
    const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offsetSeconds;
    return { seconds, nanoseconds };
  }

  #year(): number {
    if (!/^\d{4}/.test(this.#rest)) throw this.#mismatch("2006");
    return this.#take(4);
  }

  #number(element: {
    readonly element: string;
    readonly minimum: number;
    readonly maximum: number;
    readonly word: string;
    readonly mayBeOneDigit?: boolean;
  }): number {
    const digits = /^\d{1,2}/.exec(this.#rest)?.[0] ?? "";
    if (digits.length < (element.mayBeOneDigit === true ? 1 : 2)) throw this.#mismatch(element.element);
    const value = this.#take(digits.length);
    if (value < element.minimum || value > element.maximum) throw this.#fault(`: ${element.word} out of range`);
    return value;
  }

  #fraction(): number {
    const isRequired = this.#layout === microsecondsLayout;
    const digits = (isRequired ? /^[.,](\d{6})/ : /^[.,](\d+)/).exec(this.#rest)?.[1];
    if (digits === undefined) {
      if (isRequired) throw this.#mismatch(".000000");
      return 0;
    }
    this.#rest = this.#rest.slice(digits.length + 1);
    return Number(digits.slice(0, 9).padEnd(9, "0"));
  }

  #zone(): number {
    if (this.#rest.startsWith("Z")) {
      this.#rest = this.#rest.slice(1);
      return 0;
    }
    const zone = /^([+-])(\d\d):(\d\d)/.exec(this.#rest);
    if (zone === null) throw this.#mismatch("Z07:00");
    const [whole, sign, hours, minutes] = zone;
    this.#rest = this.#rest.slice(whole.length);
    if (Number(hours) > 24) throw this.#fault(": time zone offset hour out of range");
    if (Number(minutes) > 60) throw this.#fault(": time zone offset minute out of range");
    return (Number(hours) * 3600 + Number(minutes) * 60) * (sign === "-" ? -1 : 1);
  }

  #literal(character: string): void {
    if (!this.#rest.startsWith(character)) throw this.#mismatch(character);
    this.#rest = this.#rest.slice(1);
  }

  #take(length: number): number {
    const value = Number(this.#rest.slice(0, length));
    this.#rest = this.#rest.slice(length);
    return value;
  }

  #mismatch(element: string): TypeMismatch {
    return new TypeMismatch(
      `parsing time ${timeQuoted(this.#text)} as ${timeQuoted(this.#layout)}: ` +
        `cannot parse ${timeQuoted(this.#rest)} as ${timeQuoted(element)}`,
    );
  }

  #fault(message: string): TypeMismatch {
    return new TypeMismatch(`parsing time ${timeQuoted(this.#text)}${message}`);
  }
}

/** Like the `quote` of Go's package time: bytes that are not printable ASCII are escaped one by one. A long text is cut. */
export function timeQuoted(text: string): string {
  const shown = text.slice(0, maximumShownLength);
  const quoted = `"${shown.replaceAll(/["\\]|[^ -\x7f]+/g, escaped)}"`;
  return shown === text ? quoted : `${quoted}... (${text.length} characters)`;
}

const escaped = (characters: string): string =>
  characters === '"' || characters === "\\"
    ? `\\${characters}`
    : Buffer.from(characters).toString("hex").replaceAll(/../g, "\\x$&");
