const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Formats the second unit, such as `5m` in `2h5m`, which is left out when it is zero. */
const unlessZero = (rest: number, unit: string): string => (rest === 0 ? "" : `${rest}${unit}`);

/**
 * Formats milliseconds with two or three significant digits, like the ages in kubectl's tables (upstream:
 * `duration.HumanDuration`). Up to two negative seconds count as zero, because clocks differ.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / second);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(milliseconds / minute);
  if (minutes < 10) return `${minutes}m${unlessZero(seconds % 60, "s")}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(milliseconds / hour);
  if (hours < 8) return `${hours}h${unlessZero(minutes % 60, "m")}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return `${days}d${unlessZero(hours % 24, "h")}`;
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (years < 8) return `${years}y${unlessZero(days % 365, "d")}`;
  return `${years}y`;
}

/** The time since an RFC 3339 timestamp, as in kubectl's tables. */
export const ageOf = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined || timestamp === "" ? "<unknown>" : humanDuration(now - Date.parse(timestamp));
