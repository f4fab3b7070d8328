/** The plain texts that upstream's YAML library reads as a boolean, null, infinity or NaN. */
const words = new Set([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"],
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"],
  ...["", "~", "null", "Null", "NULL"],
  ...[".nan", ".NaN", ".NAN"],
  ...["", "+", "-"].flatMap((sign) => [".inf", ".Inf", ".INF"].map((word) => sign + word)),
]);

/** Whether a plain text would be read as another type than a string, so that it must be quoted (upstream: `resolve`). */
export function isOfAnotherType(text: string): boolean {
  if (words.has(text)) return true;
  if (!/^[-+.\d]/.test(text)) return false;
  // Go's `strconv.ParseFloat` reads it: each `_` must be between two digits.
  if (text.startsWith(".")) return isFloat(text.replaceAll(/(?<=\d)_(?=\d)/g, ""));
  return isTimestamp(text) || isNumber(text.replaceAll("_", "")) || base60Pattern.test(text);
}

const integerPattern = /^[-+]?(?:0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/;
const floatPattern = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const base60Pattern = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;

const isNumber = (text: string): boolean =>
  (integerPattern.test(text) && (floatPattern.test(text) || text.length <= 18)) || isFloat(text);

const isFloat = (text: string): boolean => floatPattern.test(text) && Number.isFinite(Number(text));

const timestampPattern =
  /^\d{4}-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

function isTimestamp(text: string): boolean {
  const found = timestampPattern.exec(text);
  if (found === null) return false;
  const [month = 0, day = 0, ...clock] = found.slice(1).flatMap((part) => (part === undefined ? [] : [Number(part)]));
  const [hour = 0, minute = 0, second = 0] = clock;
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour < 24 && minute < 60 && second < 60;
}
