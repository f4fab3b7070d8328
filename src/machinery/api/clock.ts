import { setTimeout as delay } from "node:timers/promises";

/** The source of the current time. It is injected, so that tests can control it. */
export interface Clock {
  /** Milliseconds since the epoch, like `Date.now`. */
  now(): number;
}

export const systemClock: Clock = { now: Date.now };

/** Milliseconds since the process started. Only for durations: changes of the system clock do not affect it. */
export const monotonicClock: Clock = { now: () => performance.now() };

/**
 * The milliseconds since a time. When the clock was set back since then, the size of that step counts as passed: a caller that waits for a
 * duration must not wait until the clock reaches the old time again.
 */
export const millisecondsSince = (time: number, clock: Clock): number => Math.abs(clock.now() - time);

/** Formats a time as Kubernetes does in JSON: RFC 3339 in UTC, whole seconds. */
export function timestamp(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  const known = recentTimestamps.get(second);
  if (known !== undefined) return known;
  const text = `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
  if (recentTimestamps.size >= maximumRecentTimestamps) recentTimestamps.clear();
  recentTimestamps.set(second, text);
  return text;
}

/**
 * Timestamps by second. Most calls ask for the current second, or for the times at which certificates of this second begin and end.
 * Formatting a date costs as much as validating a small object.
 */
const recentTimestamps = new Map<number, string>();
const maximumRecentTimestamps = 16;

/**
 * The milliseconds since the epoch of a time in RFC 3339; undefined for any other text. The text needs an offset from UTC, because each
 * machine would read a time without one in its own time zone.
 */
export function parseTimestamp(text: string): number | undefined {
  const milliseconds = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** Formats a time as Leases, Events and audit events have it: RFC 3339 in UTC, with microseconds. */
export const microTimestamp = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`;

/**
 * Calls `callback` once after this many milliseconds. The returned function cancels the call. Injected, so that tests decide when time
 * passes.
 */
export type Schedule = (callback: () => void, milliseconds: number) => () => void;

/** The longest time that a timer of Node.js waits: 24.8 days. A timer with a longer time would fire at once. */
export const longestTimerMilliseconds = 2 ** 31 - 1;

/** Timers that do not keep the process alive. Fractions of a millisecond are dropped, and longer times become the longest timer. */
export const systemSchedule: Schedule = (callback, milliseconds) => {
  const timer = setTimeout(callback, Math.min(Math.trunc(milliseconds), longestTimerMilliseconds)).unref();
  return () => {
    // Node.js keeps a list of timers for each duration. When the last timer of a list is cancelled, Node.js frees the list at once only if
    // that timer was referenced. Otherwise it keeps the list until the duration has passed: cancelled watches would fill the memory for an
    // hour.
    timer.ref();
    clearTimeout(timer);
  };
};

/**
 * Resolves after this many milliseconds, or at once when `signal` aborts; never rejects. Injected, as a Schedule is. Longer times become
 * the longest timer.
 */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

const sleepWith =
  (options: { readonly ref: boolean }): Sleep =>
  (milliseconds, signal) =>
    // Rejects on abort only.
    delay(Math.min(milliseconds, longestTimerMilliseconds), undefined, { signal, ...options }).catch(() => {});

export const sleep = sleepWith({ ref: true });

/** Does not keep the process alive. */
export const unreferencedSleep = sleepWith({ ref: false });
