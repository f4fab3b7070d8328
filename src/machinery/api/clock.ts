/** Where the current time comes from: injected, so that tests decide it. */
export interface Clock {
  /** Milliseconds since the epoch, as `Date.now`. */
  now(): number;
}

export const systemClock: Clock = { now: Date.now };

/** A time as Kubernetes writes it in JSON: RFC 3339 in UTC, whole seconds. */
export function timestamp(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  // Most are of the current second, and formatting a date costs as much as checking a small object.
  if (second !== latest.second) latest = { second, text: `${new Date(milliseconds).toISOString().slice(0, 19)}Z` };
  return latest.text;
}

let latest = { second: Number.NaN, text: "" };
