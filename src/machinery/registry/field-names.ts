import type { ObjectSchema } from "../schema/schema.ts";
import type { FieldRenames } from "./resource-definition.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Renames the top-level fields of an object between a version and the stored form. Works for parts of objects too. */
export class FieldNames {
  readonly #toStored: ReadonlyMap<string, string>;
  readonly #toServed: ReadonlyMap<string, string>;
  readonly #served: ObjectSchema;

  constructor(renames: FieldRenames, served: ObjectSchema) {
    this.#toStored = new Map(Object.entries(renames));
    this.#toServed = new Map(Object.entries(renames).map(([servedName, storedName]) => [storedName, servedName]));
    this.#served = served;
  }

  /** `fields` have only names of the served version: others could be taken for stored ones. */
  toStored(fields: object): Fields {
    return renamed(fields, this.#toStored);
  }

  /** Texts that the stored form always has and the version leaves out when empty are left out. */
  toServed(fields: object): Fields {
    const isShown = ([name, value]: readonly [string, unknown]): boolean =>
      value !== "" || this.#served.fields[name]?.presence !== undefined;
    return Object.fromEntries(Object.entries(renamed(fields, this.#toServed)).filter(isShown));
  }
}

const renamed = (fields: object, names: ReadonlyMap<string, string>): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]: readonly [string, unknown]) => [names.get(name) ?? name, value]),
  );
