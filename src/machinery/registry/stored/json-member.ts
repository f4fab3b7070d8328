import { quote, comma } from "../../api/json/json-codes.ts";
import { endOfString, endOfValue } from "../../schema/end-of-value.ts";

/**
 * The JSON text of an object's member, found without parsing earlier members. Undefined when the object does not have the member.
 * `text`: the result of JSON.stringify for an object, without the opening brace; anything may follow the object.
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
