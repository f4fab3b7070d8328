const partsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const step = (value: unknown, part: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined;

/** The value at a JSON pointer (RFC 6901), or undefined. */
export const valueAt = (value: unknown, pointer: string): unknown => partsOf(pointer).reduce(step, value);

/** Removes what is at a JSON pointer, in place. */
export function removeAt(value: unknown, pointer: string): void {
  const parts = partsOf(pointer);
  const last = parts.pop();
  const parent = parts.reduce(step, value);
  if (last !== undefined && typeof parent === "object" && parent !== null)
    delete (parent as Record<string, unknown>)[last];
}
