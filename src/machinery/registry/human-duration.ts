const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** `2h` or `2h5m`: the second unit appears only when it is not zero. */
const pair = (first: string, rest: number, unit: string): string => (rest === 0 ? first : `${first}${rest}${unit}`);

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
  if (minutes < 10) return pair(`${minutes}m`, seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(milliseconds / hour);
  if (hours < 8) return pair(`${hours}h`, minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return pair(`${days}d`, hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (years < 8) return pair(`${years}y`, days % 365, "d");
  return `${years}y`;
}

/** The time since an RFC 3339 timestamp, as in kubectl's tables. */
export const ageOf = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined || timestamp === "" ? "<unknown>" : humanDuration(now - Date.parse(timestamp));
