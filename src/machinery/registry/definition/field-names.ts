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

  constructor(renames: FieldRenames, served: ObjectSchema) {
    this.#toStored = new Map(Object.entries(renames));
    this.#toServed = new Map(Object.entries(renames).map(([servedName, storedName]) => [storedName, servedName]));
    this.#served = served;
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

  /** Renames stored fields. Leaves out empty strings that the stored form always has, but that the version leaves out when empty. */
  toServed(fields: object): Fields {
    const isShown = ([name, value]: readonly [string, unknown]): boolean =>
      value !== "" || (this.#served.fields[name]?.presence ?? "omitEmpty") !== "omitEmpty";
    return Object.fromEntries(Object.entries(renamed(fields, this.#toServed)).filter(isShown));
  }
}

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
