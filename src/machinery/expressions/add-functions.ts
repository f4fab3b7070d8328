import type { Environment } from "@marcbachmann/cel-js";
import { spendSteps } from "./cost-budget.ts";

/** Functions by their signatures: `string.charAt(int): string`. A letter stands for any type, the same one wherever it stands. */
export type CelFunctions = Readonly<Record<string, (...given: never[]) => unknown>>;

/**
 * The name under which the library keeps a function. Calls in expressions get the same suffix, so none of them reaches a function
 * of the library: those count other characters than CEL does, and some have no bound.
 */
export const ownName = (name: string): string => `${name}_`;

/**
 * Adds functions. Each call spends what it takes to read its values once; what takes longer, a body spends itself before it does
 * the work.
 */
export function addFunctions(environment: Environment, functions: CelFunctions): void {
  for (const [signature, body] of Object.entries(functions)) {
    environment.registerFunction(
      signature.replace(/\w+(?=\()/, ownName),
      (...given: never[]) => {
        spendSteps(stepsToRead(given));
        return body(...given);
      },
      { async: false },
    );
  }
}

/** The signatures with one body for each of some types, whose name they have as `T`. */
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
