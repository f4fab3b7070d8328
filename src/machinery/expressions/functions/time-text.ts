import { Duration } from "@marcbachmann/cel-js/evaluator";

const nanosecondsPerSecond = 1_000_000_000n;

const timestampPattern = /^\d{4}-\d{2}-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d{1,64})?(?:Z|[+-]\d{2}:[0-5]\d)$/;

/**
 * Reads a timestamp of RFC 3339, to a millisecond: later digits are dropped. Throws an Error for a timestamp that is not valid, or not in
 * CEL's range.
 */
export function readTimestamp(text: string): Date {
  const parts = timestampPattern.exec(text);
  if (parts === null) throw new Error(`invalid timestamp ${JSON.stringify(text.slice(0, 64))}`);
  const [, day = "", , fraction = ""] = parts;
  const written = fraction === "" ? text : text.replace(fraction, fraction.slice(0, 4).replace(",", "."));
  const local = new Date(written.replace(/(?:Z|[+-]\d\d:\d\d)$/, "Z"));
  // JavaScript reads the 30th of February as a day in March.
  if (local.getUTCDate() !== Number(day)) throw new Error(`invalid timestamp ${JSON.stringify(text)}`);
  return timestampOf(Date.parse(written));
}

/** Throws an Error outside of the years 1 to 9999. */
export function timestampOf(milliseconds: number): Date {
  if (milliseconds >= -62_135_596_800_000 && milliseconds <= 253_402_300_799_999) return new Date(milliseconds);
  throw new Error("timestamp overflow");
}

export const timestampText = (value: Date): string => value.toISOString().replace(/\.?0*Z$/, "Z");

const unitNanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: nanosecondsPerSecond,
  m: 60n * nanosecondsPerSecond,
  h: 3600n * nanosecondsPerSecond,
};

const longestDuration = 256;

/** Reads a duration as Go writes it: `1h30m`, `-1.5s`. Throws an Error for a duration that is not valid, or longer than 292 years. */
export function readDuration(text: string): Duration {
  const parts =
    text.length > longestDuration
      ? null
      : /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (parts === null) throw new Error(`invalid duration ${JSON.stringify(text.slice(0, 64))}`);
  const [, sign, amounts = ""] = parts;
  let total = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of amounts.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const nanoseconds = unitNanoseconds[unit] ?? 0n;
    const digits = fraction.slice(0, 15);
    total += BigInt(whole) * nanoseconds + (BigInt(digits) * nanoseconds) / 10n ** BigInt(digits.length);
  }
  return durationOf(sign === "-" ? -total : total);
}

/**
 * A duration whose nanoseconds are never negative, because the library adds and compares only such durations correctly. Throws an Error for
 * a duration longer than 292 years.
 */
export function durationOf(nanoseconds: bigint): Duration {
  if (BigInt.asIntN(64, nanoseconds) !== nanoseconds) throw new Error("integer overflow");
  const part = ((nanoseconds % nanosecondsPerSecond) + nanosecondsPerSecond) % nanosecondsPerSecond;
  return new Duration((nanoseconds - part) / nanosecondsPerSecond, Number(part));
}

export const nanosecondsOf = ({ seconds, nanos }: Duration): bigint => seconds * nanosecondsPerSecond + BigInt(nanos);

/** The text of a duration in seconds: `5400s`, `-1.5s`. */
export function durationText(value: Duration): string {
  const nanoseconds = nanosecondsOf(value);
  const [size, sign] = nanoseconds < 0n ? [-nanoseconds, "-"] : [nanoseconds, ""];
  const fraction = String(size % nanosecondsPerSecond).padStart(9, "0");
  return `${sign}${size / nanosecondsPerSecond}.${fraction}`.replace(/\.?0*$/, "") + "s";
}
