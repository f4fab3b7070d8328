/** A symbol as the key, so that code that reads, compares or writes an object's members does not see it. Copies of the object keep it. */
const sentEmpty: unique symbol = Symbol("fields that were sent empty");

interface SentEmpty {
  readonly [sentEmpty]?: readonly string[];
}

/** Returns the decoded object, with the names of its fields that were sent empty. */
export const withSentEmpty = <T extends object>(object: T, fields: readonly string[]): T =>
  fields.length === 0 ? object : { ...object, [sentEmpty]: fields };

/**
 * Whether a field with `distinguishesEmpty` was sent as an empty map or text, and left out. Ask only about the object of a write: its stored
 * version may keep this, or may have forgotten it.
 */
export const wasSentEmpty = (object: object, field: string): boolean =>
  (object as SentEmpty)[sentEmpty]?.includes(field) === true; // only this file knows the symbol
