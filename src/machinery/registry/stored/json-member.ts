import { quote, comma } from "../../api/json-codes.ts";
import { endOfString, endOfValue } from "../../schema/end-of-value.ts";

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
