import { isJsonObject } from "../../api/json/json-object.ts";
import { compileDecoder } from "../../schema/compile-decoder.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import type { FieldSet } from "../apply/field-set.ts";
import type { OwnedFieldNames } from "../apply/managed-fields.ts";
import { fieldElement } from "../apply/path-element.ts";
import type { FieldRenames } from "./resource-definition.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Renames the top-level fields of an object between a version and the stored form. Works for parts of objects too. */
export class FieldNames implements OwnedFieldNames {
  readonly #toStored: ReadonlyMap<string, string>;
  readonly #toServed: ReadonlyMap<string, string>;
  readonly #served: ObjectSchema;
  /** The decoders of structs with members that the version always has: the stored form may leave them out. */
  readonly #structs: readonly (readonly [string, (value: unknown) => { readonly value: unknown }])[];

  constructor(renames: FieldRenames, served: ObjectSchema) {
    this.#toStored = new Map(Object.entries(renames));
    this.#toServed = new Map(Object.entries(renames).map(([servedName, storedName]) => [storedName, servedName]));
    this.#served = served;
    this.#structs = Object.entries(served.fields).flatMap(([name, { presence, schema }]) =>
      presence === "pointer" && schema.type === "object" && hasAlwaysMember(schema)
        ? [[name, compileDecoder(schema)] as const]
        : [],
    );
  }

  /** Renames served fields. `fields` must have only names of the served version: another name might be a stored one. */
  toStored(fields: object): Fields {
    return renamed(fields, this.#toStored);
  }

  ownedToStored(fields: FieldSet): FieldSet {
    return renamedFields(fields, this.#toStored);
  }

  ownedToServed(fields: FieldSet): FieldSet {
    return renamedFields(fields, this.#toServed);
  }

  /**
   * Renames stored fields. Leaves out empty strings that the stored form always has, but that the version leaves out when empty, and the
   * reverse: adds the empty values that the version always has in a struct (the `count` of an event's series).
   */
  toServed(fields: object): Fields {
    const isShown = ([name, value]: readonly [string, unknown]): boolean =>
      value !== "" || (this.#served.fields[name]?.presence ?? "omitEmpty") !== "omitEmpty";
    const served = Object.fromEntries(Object.entries(renamed(fields, this.#toServed)).filter(isShown));
    for (const [name, decode] of this.#structs)
      if (isJsonObject(served[name])) served[name] = decode(served[name]).value;
    return served;
  }
}

const hasAlwaysMember = ({ fields }: ObjectSchema): boolean =>
  Object.values(fields).some(({ presence }) => presence === "always");

const renamedFields = (fields: FieldSet, names: ReadonlyMap<string, string>): FieldSet =>
  Object.fromEntries(
    Object.entries(fields).map(([element, below]) => {
      const name = names.get(element.slice(fieldElement("").length));
      return [name === undefined ? element : fieldElement(name), below];
    }),
  );

const renamed = (fields: object, names: ReadonlyMap<string, string>): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]: readonly [string, unknown]) => [names.get(name) ?? name, value]),
  );
