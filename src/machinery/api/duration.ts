const unitMilliseconds: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A thousand years: longer ones are mistakes, and would not fit where seconds are 32 or 53 bits. */
const longest = { milliseconds: 1000 * 365 * 86_400_000, text: "365000d" };

/**
 * Milliseconds of a duration as Go writes it (`1h30m`, `10s`, `250ms`), with days besides (`30d`, `1d12h`; a day is 24
 * hours). Undefined when the text is not a duration, or is longer than a thousand years.
 */
export function parseDuration(text: string): number | undefined {
  const milliseconds = millisecondsOf(text);
  return milliseconds !== undefined && milliseconds <= longest.milliseconds ? milliseconds : undefined;
}

/** What is wrong with a text that `parseDuration` does not take, after the text itself: `is not a duration such as …`. */
export const durationFault = (text: string): string =>
  millisecondsOf(text) === undefined
    ? "is not a duration such as 90s, 10m, 24h or 30d"
    : `is too long: give a duration of ${longest.text} at most`;

/** Infinity for more than a number can hold. */
function millisecondsOf(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "", , unit = ""] of text.matchAll(/(\d+(\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (unitMilliseconds[unit] ?? 0);
  }
  return total;
}
