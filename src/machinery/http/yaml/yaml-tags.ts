import type { ScalarTag, Tags } from "yaml";
import { shortened } from "../../api/text/format-value.ts";

/** YAML 1.1 types that upstream's parser does not have (it has YAML 1.1's booleans and octal numbers). */
const foreignTags = new Set(["intTime", "floatTime", "timestamp", "binary", "omap", "pairs", "set", "merge"]);

/** The tags of the library, as upstream's parser reads them. */
export const upstreamTags = (tags: Tags): Tags => {
  const own = tags
    .filter((tag) => typeof tag === "string" || !(foreignTags.has(typeOf(tag)) || isSexagesimal(tag)))
    .map((tag) => (typeof tag === "string" ? tag : onlyWithDigits(tag)));
  const plain = [integerTag, ...own.filter((tag) => isPlainScalar(tag))];
  const written = ["null", "bool", "int", "float"].map((type) => explicitTag(type, plain));
  return [...written, explicitTag("timestamp", [timestampTag, ...plain]), integerTag, binaryTag, ...own];
};

const tagPrefix = "tag:yaml.org,2002:";
const typeOf = ({ tag }: { readonly tag: string }): string => tag.replace(tagPrefix, "");

/** Whether a text without an explicit tag can have this tag. */
const isPlainScalar = (tag: Tags[number]): tag is ScalarTag =>
  typeof tag !== "string" && tag.default === true && "test" in tag && tag.test !== undefined;

/** An explicit tag, such as `!!int`. It refuses a text that would not have this type without the tag, as upstream does. */
const explicitTag = (type: string, plain: readonly ScalarTag[]): ScalarTag => ({
  tag: tagPrefix + type,
  default: false,
  // oxlint-disable-next-line max-params -- what the library calls
  resolve(text, onError, options) {
    const tag = plain.find(({ test }) => test?.test(text));
    const value = tag === undefined ? text : tag.resolve(text, onError, options);
    const found = tag === undefined ? "str" : typeOfValue({ value, text, type: typeOf(tag) });
    if (found === type || (found === "int" && type === "float")) return value;
    onError(`cannot decode !!${found} \`${shortened(text)}\` as a !!${type}`);
    return text;
  },
});

/** The final type of a text: an integer that is too long becomes a float, and a float that is too large becomes a string. */
function typeOfValue(read: { readonly value: unknown; readonly text: string; readonly type: string }): string {
  const { value, text, type } = read;
  if (typeof value === "number" && isOverflow(value, text)) return "str";
  if (type !== "int") return type;
  if (value === text) return "str";
  return typeof value === "number" && !Number.isSafeInteger(value) ? "float" : "int";
}

const date = String.raw`\d{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])`;
const time = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:[0-5]?\d(?:[.,]\d+)?`;

/** A date or time. Its value is the text as written, as in upstream. */
const timestampTag: ScalarTag = {
  tag: `${tagPrefix}timestamp`,
  default: false,
  test: new RegExp(String.raw`^${date}(?:[Tt]${time}(?:Z|[-+]\d\d:\d\d)| ${time})?$`),
  resolve: (text) => text,
};

const largestUint64 = 2n ** 64n - 1n;
/** The longest text of an integer of 64 bits: 64 binary digits, a sign and `0b`. */
const maximumIntegerLength = 67;

/** Integers as Go's `strconv.ParseInt` reads them for the base 0: the library knows no `0o` and no capital letters. */
const integerTag: ScalarTag = {
  tag: `${tagPrefix}int`,
  default: true,
  test: /^[-+]?(?:0_*[xX][\da-fA-F_]+|0_*[bB][01_]+|0_*[oO][0-7_]+|0[0-7_]*|[1-9][\d_]*)$/,
  resolve(text) {
    const plain = text.replaceAll("_", "");
    const digits = plain.replace(/^[-+]/, "").replace(/^0(?=\d)/, "0o");
    const isDecimal = !/^0[a-z]/i.test(digits);
    if (digits.length > maximumIntegerLength) return isDecimal ? Number(plain) : text;
    // A prefix without digits is a text.
    if (/^0[a-z]$/i.test(digits)) return text;
    const amount = BigInt(digits);
    if (amount > largestUint64) return isDecimal ? Number(plain) : text;
    const value = plain.startsWith("-") ? -amount : amount;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  },
};

/** Bytes in base64, which become the text that they encode. */
const binaryTag: ScalarTag = {
  tag: `${tagPrefix}binary`,
  default: false,
  resolve(text, onError) {
    const base64 = text.replaceAll(/[\r\n]/g, "");
    if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      onError("!!binary value contains invalid base64 data");
    }
    return Buffer.from(base64, "base64").toString();
  },
};

/** Upstream reads a text that begins with a dot as Go's `strconv.ParseFloat` does: each `_` in it must be between two digits. */
const misplacedUnderscore = String.raw`\.(?:.*[^0-9])?_|\..*_(?:[^0-9]|$)`;

/** Makes a number's tag refuse texts that only the library reads as numbers: `.` (in all managedFields), `.0_` and `e0`. */
function onlyWithDigits(tag: Exclude<Tags[number], string>): Exclude<Tags[number], string> {
  if (!("test" in tag) || tag.test === undefined || !(tag.test.test(".") || tag.test.test("e0"))) return tag;
  return { ...tag, test: new RegExp(`^(?=[-+]?\\.?[0-9])(?!${misplacedUnderscore})(?:${tag.test.source})`) };
}

const isSexagesimal = (tag: Exclude<Tags[number], string>): boolean => "format" in tag && tag.format === "TIME";

/** Whether a written number is too large for a float of 64 bits (`1e400`), which Go reads as a text. Not for `.inf`: it has no digits. */
export const isOverflow = (value: number, source: string): boolean => !Number.isFinite(value) && /\d/.test(source);
