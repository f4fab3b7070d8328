import type { FieldError } from "./field-error.ts";

/** The answer shows at most this many faults of one object. */
export const maximumFaults = 100;

/** Stops a validation that has found enough faults. Only `firstFaults` catches it. */
class EnoughFaults extends Error {}

/** The faults of the current validation; undefined when no validation is running. */
let found: FieldError[] | undefined;

/**
 * Runs a validation and returns its first faults: at most one more than are shown, which tells that there are more. The
 * validation stops there, so that time and memory do not grow with the number of faults in the caller's input.
 * Validation is synchronous, so only one runs at a time.
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

/** Records a fault at the moment when a validator creates it. */
export function recordFault(fault: FieldError): FieldError {
  if (found === undefined) return fault;
  found.push(fault);
  if (found.length > maximumFaults) throw new EnoughFaults();
  return fault;
}
