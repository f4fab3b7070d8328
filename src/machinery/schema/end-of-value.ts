import { quote, comma, openBracket, backslash, closeBracket, openBrace, closeBrace } from "../api/json/json-codes.ts";

/** The index after the value that starts at `start` in an object or a list of valid JSON: of the comma or bracket behind it. */
export function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) position = endOfString(text, position);
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      if (depth === 0) return position;
      depth -= 1;
    } else if (code === comma && depth === 0) return position;
  }
  return text.length;
}

/** The position of the closing quote of the string that starts at `start`; the end of the text where there is none. */
export function endOfString(text: string, start: number): number {
  const quoted = text.indexOf('"', start + 1);
  if (quoted < 0) return text.length;
  if (text.charCodeAt(quoted - 1) !== backslash) return quoted;
  // Many quotes may be escaped: a search for each would take ten times as long as to look at every character.
  let end = start + 1;
  for (let code = text.charCodeAt(end); code !== quote && end < text.length; code = text.charCodeAt(end)) {
    end += code === backslash ? 2 : 1;
  }
  return Math.min(end, text.length);
}
