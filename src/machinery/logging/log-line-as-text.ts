import { jsonFields } from "../api/json/json-object.ts";
import { unprintableCharacters } from "../api/text/unprintable-characters.ts";

const levels: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "FATAL",
};

const plainValue = /^[\w.:@/+*,-]+$/;

/**
 * Formats a JSON line of the log for people: time (UTC), level, message, then the fields. A stack is shown only for an error that ends the
 * process; all other messages say what to do.
 */
export function logLineAsText(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>; // pino's own line
  const word = levels[Number(level)] ?? String(level);
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${valueText(name, value)}`);
  const stack = word === "FATAL" ? stackOf(fields["err"]) : "";
  const head = `${new Date(Number(time)).toISOString()} ${word.padEnd(5)} ${escaped(typeof msg === "string" ? msg : "")}`;
  return `${[head, ...shown].join("  ")}\n${stack}`;
}

function valueText(name: string, value: unknown): string {
  const said = name === "err" ? loggedMessageOf(value) : value;
  if (typeof said === "string") return plainValue.test(said) ? said : escaped(JSON.stringify(said));
  if (Array.isArray(said) && said.every((one) => typeof one === "string"))
    return escaped(JSON.stringify(said.join(", ")));
  return escaped(JSON.stringify(said) ?? "");
}

/** The message of an error that pino has written. */
const loggedMessageOf = (error: unknown): unknown => jsonFields(error)["message"] ?? error;

function stackOf(error: unknown): string {
  const { stack } = jsonFields(error);
  if (typeof stack !== "string") return "";
  return stack
    .split("\n")
    .map((one) => `    ${escaped(one)}\n`)
    .join("");
}

/** Escapes unprintable characters, because values may contain text from other sources. */
const escaped = (text: string): string =>
  text.replace(unprintableCharacters, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
