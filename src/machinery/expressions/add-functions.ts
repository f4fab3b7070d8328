import type { Environment } from "@marcbachmann/cel-js";
import { spendSteps } from "./cost-budget.ts";

/** Functions by their signatures: `string.charAt(int): string`. A single letter is a type parameter. */
type CelFunctions = Readonly<Record<string, (...given: never[]) => unknown>>;

/**
 * The name under which a function is registered in the library. Calls in expressions get the same suffix, so no call reaches a function of
 * the library itself: those count characters differently from CEL, and some have no limit on their work.
 */
export const suffixedName = (name: string): string => `${name}_`;

/**
 * Adds functions. Each call spends the steps that it takes to read its arguments once. A function that does more work spends steps for it
 * itself, before the work.
 */
export function addFunctions(environment: Environment, functions: CelFunctions): void {
  for (const [signature, body] of Object.entries(functions)) {
    environment.registerFunction(
      signature.replace(/\w+(?=\()/, suffixedName),
      (...given: never[]) => {
        spendSteps(stepsToRead(given));
        return body(...given);
      },
      { async: false },
    );
  }
}

/** Repeats signatures with the same body for each of some types: `T` stands for the type. */
export const forTypes = (types: readonly string[], functions: CelFunctions): CelFunctions =>
  Object.fromEntries(
    types.flatMap((type) =>
      Object.entries(functions).map(([signature, body]) => [signature.replaceAll(/\bT\b/g, type), body]),
    ),
  );

/** The body of a function that says whether a value can be parsed: whether `parse` throws no error for it. */
export const parses =
  <Given extends readonly unknown[]>(parse: (...given: Given) => unknown) =>
  (...given: Given): boolean => {
    try {
      parse(...given);
      return true;
    } catch {
      return false;
    }
  };

function stepsToRead(values: readonly unknown[]): number {
  let steps = 0;
  for (const value of values) {
    if (Array.isArray(value)) {
      steps += value.length;
      for (const one of value as unknown[]) steps += lengthOf(one) / 10;
    } else steps += lengthOf(value) / 10;
  }
  return steps;
}

const lengthOf = (value: unknown): number =>
  typeof value === "string" || value instanceof Uint8Array ? value.length : 0;
