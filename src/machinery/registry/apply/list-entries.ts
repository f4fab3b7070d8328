import type { ArraySchema } from "../../schema/schema.ts";
import { entryElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";

/**
 * The entries of a list by path element, in order. Several entries for one element are duplicates. Throws
 * UntrackableEntry.
 */
export function entriesByElement(list: ArraySchema, entries: readonly unknown[]): Map<PathElement, unknown[]> {
  const byElement = new Map<PathElement, unknown[]>();
  for (const entry of entries) {
    const element = entryElement(list, entry);
    const known = byElement.get(element);
    if (known === undefined) byElement.set(element, [entry]);
    else known.push(entry);
  }
  return byElement;
}

/** The list itself. null, and a value that is not a list, count as empty. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
