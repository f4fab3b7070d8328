import { ApiError } from "../api-error.ts";

/**
 * The terms of a selector that narrows a question to an authorizer. Undefined when it cannot be parsed: then it narrows nothing,
 * and the question is about all objects.
 */
export function selectorTermsIfValid<T>(parse: (text: string) => readonly T[], text: string): readonly T[] | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
