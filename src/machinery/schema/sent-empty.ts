/** A key that is no name, so that nothing that reads, compares or writes the members of an object sees it. Copies of the object keep it. */
const sentEmpty: unique symbol = Symbol("fields that were sent empty");

interface SentEmpty {
  readonly [sentEmpty]?: readonly string[];
}

/** Returns the decoded object, with the names of its fields that were sent empty. */
export const withSentEmpty = <T extends object>(object: T, fields: readonly string[]): T =>
  fields.length === 0 ? object : { ...object, [sentEmpty]: fields };

/** Whether a field that `tellsEmpty` was sent as an empty map or text, and left out. What was stored says no. */
export const wasSentEmpty = (object: object, field: string): boolean =>
  (object as SentEmpty)[sentEmpty]?.includes(field) === true; // only this file knows the symbol
