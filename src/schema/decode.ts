import type { ObjectSchema } from "./schema.ts";

export interface Decoded<T> {
  readonly value: T;
  /** Paths of the members that the schema does not name, in document order, at most 100. */
  readonly unknownFields: string[];
}

export function decode<T>(schema: ObjectSchema<T>, value: unknown): Decoded<T> {
  throw new Error(`unwritten ${schema.goType} ${String(value)}`);
}
