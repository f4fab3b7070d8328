import { badRequest } from "../api-error.ts";

interface FieldTerm {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All terms must match. An empty selector matches everything. */
export type FieldSelector = readonly FieldTerm[];

/**
 * Parses upstream's field selectors (apimachinery `fields.ParseSelector`), with its messages and its order: the terms are sorted as
 * texts. Throws a 400 ApiError.
 */
export function parseFieldSelector(text: string): FieldSelector {
  const terms: FieldTerm[] = [];
  for (const part of splitUnescaped(text).sort()) {
    if (part === "") continue;
    // The first operator ends the field, which knows no escapes; the rest is the value.
    const match = /^([^]*?)(!=|==|=)([^]*)$/.exec(part);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const [, field = "", operator, value = ""] = match;
    const unescaped = unescape(value);
    // Upstream drops a term without field and value (`hasTerm.Transform`): it selects everything.
    if (field === "" && unescaped === "") continue;
    terms.push({ field, operator: operator === "!=" ? "!=" : "=", value: unescaped });
  }
  return terms;
}

/** Formats the selector as text that parses to the same terms. */
export const printFieldSelector = (selector: FieldSelector): string =>
  selector.map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, "\\$&")}`).join(",");

/** A selector for the objects whose fields have these values. */
export const equalFields = (values: Readonly<Record<string, string>>): string =>
  printFieldSelector(Object.entries(values).map(([field, value]) => ({ field, operator: "=", value })));

/**
 * Returns a function that tells whether an object matches. `valueOf` returns the value of one of its fields, "" when the field is absent.
 * It is called once for each field, however many terms name the field.
 */
export function fieldMatcher(selector: FieldSelector): (valueOf: (field: string) => string) => boolean {
  const ofFields = new Map<string, { readonly equal: Set<string>; readonly unequal: Set<string> }>();
  for (const { field, operator, value } of selector) {
    const ofField = ofFields.get(field) ?? { equal: new Set(), unequal: new Set() };
    ofFields.set(field, ofField);
    (operator === "=" ? ofField.equal : ofField.unequal).add(value);
  }
  const terms = [...ofFields];
  return (valueOf) =>
    terms.every(([field, { equal, unequal }]) => {
      const value = valueOf(field);
      return (equal.size === 0 || (equal.size === 1 && equal.has(value))) && !unequal.has(value);
    });
}

/**
 * The value that the selector requires for a field, or undefined. When it requires several, no object can match, and the first is returned.
 */
export const requiredFieldValue = (selector: FieldSelector, field: string): string | undefined =>
  selector.find((term) => term.field === field && term.operator === "=")?.value;

/** Splits at commas without a backslash before them. */
function splitUnescaped(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === ",") {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function unescape(value: string): string {
  let result = "";
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    if (character === "\\") {
      at += 1;
      const escaped = value.charAt(at);
      if (!["\\", ",", "="].includes(escaped)) {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped}`);
      }
      result += escaped;
    } else if (character === "=") {
      // Go prints the number of the character.
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    } else result += character;
  }
  return result;
}
