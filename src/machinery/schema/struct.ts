import { object } from "./schema.ts";
import type { Field, FieldsOf, ObjectSchema, Presence, Schema } from "./schema.ts";

/**
 * Builders for schemas of Go structs, where a field is one line: its protobuf number, its schema and a description. The
 * builder's name is the field's presence.
 *
 *     const taint = struct("v1.Taint", "Keeps Pods away that do not tolerate it.", {
 *       key: required(1, string, "The taint's key."),
 *       value: omitEmpty(2, string, "The taint's value."),
 *       timeAdded: pointer(4, time, "When it was added."),
 *     });
 */
// oxlint-disable-next-line max-params -- the head of a table: names for its parts would push the fields to the right
export const struct = <const F extends Readonly<Record<string, Field>>>(
  goType: string,
  description: string,
  fields: F,
): ObjectSchema<FieldsOf<F>> => object({ goType, description, fields });

/** A struct that apply and ownership treat as one value. */
// oxlint-disable-next-line max-params -- as above
export const atomicStruct = <const F extends Readonly<Record<string, Field>>>(
  goType: string,
  description: string,
  fields: F,
): ObjectSchema<FieldsOf<F>> => object({ goType, description, isAtomic: true, fields });

type Rest = Pick<Field, "default" | "refersTo" | "distinguishesEmpty" | "isRequired" | "isServerSet" | "embeddedIn">;

export interface FieldOf<S extends Schema, P extends Presence> extends Field {
  readonly schema: S;
  readonly presence: P;
}

const builder =
  <P extends Presence>(presence: P) =>
  // oxlint-disable-next-line max-params -- a row of a table: names for its columns would hide the fields
  <S extends Schema>(number: number, schema: S, description: string, rest: Rest = {}): FieldOf<S, P> => ({
    number,
    schema,
    presence,
    description,
    ...rest,
  });

export const omitEmpty = builder("omitEmpty");
export const pointer = builder("pointer");
export const always = builder("always");
export const nullable = builder("nullable");

/** A field that is always present and that OpenAPI lists as required. */
// oxlint-disable-next-line max-params -- a row of a table: names for its columns would hide the fields
export const required = <S extends Schema>(number: number, schema: S, description: string): FieldOf<S, "always"> => ({
  ...always(number, schema, description),
  isRequired: true,
});

/** Marks a field as a reference to an object of `kind`; its member `nameIn` has the name. See `Field.refersTo`. */
export const refersTo = (kind: string, nameIn?: string): Rest => ({
  refersTo: { kind, ...(nameIn !== undefined && { nameIn }) },
});
