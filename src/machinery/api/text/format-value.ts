import { goJson } from "../json/go-json.ts";
import { isJsonObject } from "../json/json-object.ts";

/** Errors show at most this much of a caller's value, in UTF-16 units. A certificate request fits. */
export const maximumShownLength = 4096;

/** The text, shortened when it is too long to show. */
export function shortened(text: string, maximumLength = maximumShownLength): string {
  if (text.length <= maximumLength) return text;
  return `${text.slice(0, maximumLength).toWellFormed()}... (${text.length} characters)`;
}

/** Quotes a text as Go does (`%q`): characters that cannot be printed become hexadecimal escapes. */
export function goQuoted(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  const characters = text.toWellFormed().replace(/["\\]|(?! )[\p{C}\p{Z}]/gu, (character) => goEscape(character));
  return `"${characters}"`;
}

const letterEscapes = new Map([
  ...['"', "\\"].map((character) => [character, character] as const),
  ...Array.from("\x07\b\f\n\r\t\v", (character, index) => [character, "abfnrtv".charAt(index)] as const),
]);

function goEscape(character: string): string {
  const letter = letterEscapes.get(character);
  if (letter !== undefined) return `\\${letter}`;
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code < 0x80) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/** A text whose type in Go has a name of its own, such as `types.UID`. */
export class NamedText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Formats a value as Go prints it in field errors: strings quoted as Go does, structures and named texts as JSON, everything else
 * plain. A long value is cut, and the cost does not grow with its length.
 */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") {
    if (value.length <= maximumShownLength) return goQuoted(value);
    return `${goQuoted(value.slice(0, maximumShownLength))}... (${value.length} characters)`;
  }
  // JSON would round the last digits of a large integer again.
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 63)
    return BigInt(value).toString();
  if (typeof value !== "object") return JSON.stringify(value) ?? "null";
  const writer = new BeginningWriter();
  writer.write(value instanceof NamedText ? value.text : value);
  return writer.isFull ? `${writer.text.slice(0, maximumShownLength).toWellFormed()}...` : writer.text;
}

/** Writes JSON until the text is longer than an error may show. */
class BeginningWriter {
  text = "";

  get isFull(): boolean {
    return this.text.length > maximumShownLength;
  }

  write(value: unknown): void {
    if (this.isFull) return;
    if (typeof value === "string") {
      // The closing quote of a long text is cut off together with the rest.
      this.text += goJson(value.slice(0, maximumShownLength + 1).toWellFormed());
    } else if (Array.isArray(value)) {
      this.#writeMembers("[]", itemsOf(value));
    } else if (isJsonObject(value)) {
      this.#writeMembers("{}", membersOf(value));
    } else {
      this.text += JSON.stringify(value) ?? "null";
    }
  }

  #writeMembers(brackets: "[]" | "{}", members: Iterable<Member>): void {
    this.text += brackets[0];
    let separator = "";
    for (const [label, value] of members) {
      this.text += separator + label;
      separator = ",";
      this.write(value);
      if (this.isFull) return;
    }
    this.text += brackets[1];
  }
}

/** The text before a value, and the value. */
type Member = readonly [label: string, value: unknown];

// Generators, because most of a large value is not shown.
function* itemsOf(list: readonly unknown[]): Generator<Member> {
  for (const item of list) yield ["", item];
}

function* membersOf(object: Readonly<Record<string, unknown>>): Generator<Member> {
  for (const key in object) if (object[key] !== undefined) yield [`${goJson(shortened(key))}:`, object[key]];
}
