import type { FieldError } from "./field-error.ts";

/** How many faults of one object are shown. */
export const maximumFaults = 100;

/** Ends a validation that has found enough. Only `firstFaults` catches it. */
class EnoughFaults extends Error {}

/** The faults that the validation which runs now has made; undefined: none runs. */
let found: FieldError[] | undefined;

/**
 * The first faults that a validation makes: at most one more than are shown, which says that there are more. The
 * validation is ended there: work and memory do not grow with the faults of what a caller sent. Validation is
 * synchronous, so that one is under way at a time.
 */
export function firstFaults(validate: () => readonly FieldError[]): readonly FieldError[] {
  const outer = found;
  const made: FieldError[] = [];
  found = made;
  try {
    return validate().slice(0, maximumFaults + 1);
  } catch (error) {
    if (error instanceof EnoughFaults) return made;
    throw error;
  } finally {
    found = outer;
  }
}

/** Notes a fault where it is made, whoever makes it. */
export function noteFault(fault: FieldError): FieldError {
  if (found === undefined) return fault;
  found.push(fault);
  if (found.length > maximumFaults) throw new EnoughFaults();
  return fault;
}
