import { endOfString } from "../schema/value-limit.ts";

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

/**
 * The text of an object's member, without parsing what comes before it. Undefined when there is none. `text` is what
 * JSON.stringify makes of an object, after the opening brace; anything may follow the object.
 */
export function jsonMember(text: string, name: string): string | undefined {
  const key = JSON.stringify(name);
  for (let at = 0; text.charCodeAt(at) === quote; at += 1) {
    const colon = endOfString(text, at) + 1;
    const value = colon + 1;
    const end = endOfValue(text, value);
    if (colon - at === key.length && text.startsWith(key, at)) return text.slice(value, end);
    if (text.charCodeAt(end) !== comma) return undefined;
    at = end;
  }
  return undefined;
}

/** The index after the value that starts here. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) at = endOfString(text, at);
    else if (character === openBrace || character === openBracket) depth += 1;
    else if (character === closeBrace || character === closeBracket) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (character === comma && depth === 0) return at;
  }
  return text.length;
}
