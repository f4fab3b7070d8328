import { setTimeout as delay } from "node:timers/promises";

/** The source of the current time. It is injected, so that tests can control it. */
export interface Clock {
  /** Milliseconds since the epoch, like `Date.now`. */
  now(): number;
}

export const systemClock: Clock = { now: Date.now };

/** Milliseconds since the process started: for durations alone, which no change of the time of day disturbs. */
export const monotonicClock: Clock = { now: () => performance.now() };

/**
 * How long ago a time was. When the clock was set back since, that step counts as passed: what waits for a duration must not
 * wait until the clock is there again.
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
 * By second. Most calls are for the current second, or for when certificates of this second begin and end, and formatting a
 * date costs as much as validating a small object.
 */
const recentTimestamps = new Map<number, string>();
const maximumRecentTimestamps = 16;

/**
 * The milliseconds since the epoch of a time in RFC 3339; undefined for any other text. It needs an offset from UTC: without one, each
 * machine would read it in its own time zone.
 */
export function parseTimestamp(text: string): number | undefined {
  const milliseconds = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** Formats a time as Leases, Events and audit events have it: RFC 3339 in UTC, with microseconds. */
export const microTimestamp = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`;

/**
 * Calls back once after so many milliseconds, unless what it returns is called before: injected, so that tests decide when
 * time passes.
 */
export type Schedule = (callback: () => void, milliseconds: number) => () => void;

/** The longest time that a timer of Node.js waits: 24.8 days. A longer one would be over at once. */
export const longestTimerMilliseconds = 2 ** 31 - 1;

/** Timers that do not keep the process alive. Parts of a millisecond are cut off, and what is longer than the longest timer. */
export const systemSchedule: Schedule = (callback, milliseconds) => {
  const timer = setTimeout(callback, Math.min(Math.trunc(milliseconds), longestTimerMilliseconds)).unref();
  return () => {
    // Node.js has a list for each duration. It frees the empty list of a timer that it waits for, but keeps that of any other timer
    // until the duration has passed: cancelled watches would fill the memory for an hour.
    timer.ref();
    clearTimeout(timer);
  };
};

/**
 * Resolves after so many milliseconds, or at once when `signal` aborts; never rejects. Injected, as a Schedule is. What is longer than the
 * longest timer is cut off.
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
