import { tooLarge } from "../../api/api-error.ts";
import { maximumValues } from "../../schema/value-limit.ts";
import { memberSchemaOf } from "../../schema/schema.ts";
import type { Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import { emptySet, isEmpty, newMember, withMember } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { isNamedField, shapeOf, asList, entriesByElement } from "./field-shape.ts";
import { fieldElement } from "./path-element.ts";

/**
 * The fields that an applied configuration sets: its leaves, list entries and map keys, but not the structs, lists and
 * maps around them (upstream: ToFieldSet). Throws UntrackableEntry.
 */
export const fieldsOf = (schema: Schema, object: unknown): FieldSet =>
  new FieldReader(Infinity).fieldsOf(schema, object) ?? emptySet;

/** As `fieldsOf`, for fields whose manager is recorded. Throws a 413 for more fields than can be stored. */
export const recordedFieldsOf = (schema: Schema, object: unknown): FieldSet =>
  new FieldReader(maximumFields).fieldsOf(schema, object) ?? emptySet;

/** The most fields of an object. Each is stored as a value, and as two more in the record of its manager: `{"f:name": {}}`. */
export const maximumFields = Math.floor(maximumValues / 3);

/** Makes the field sets of values. Throws a 413 when the values together have more than `maximum` fields. */
export class FieldReader {
  readonly #maximum: number;
  #fields = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /** See `fieldsOf`. Undefined: the value sets no fields. */
  fieldsOf(schema: Schema | undefined, value: unknown): FieldSet | undefined {
    this.#count();
    const shape = shapeOf(schema, value);
    if (shape.type === "leaf") return emptySet;
    const node: FieldSet = {};
    if (shape.type === "entries") {
      for (const [element, entries] of entriesByElement(shape.list, asList(value))) {
        node[element] = entries.length > 1 ? {} : withMember(this.fieldsOf(shape.list.items, entries[0]));
      }
    } else if (isJsonObject(value)) {
      for (const name in value) {
        const member = value[name];
        const child = this.fieldsOf(memberSchemaOf(schema, name), member);
        const isOwn = member === null || isEmptyObject(member) || !isNamedField(schema, name);
        const field = isOwn ? withMember(child) : child;
        if (field !== undefined) node[fieldElement(name)] = field;
      }
    }
    return isEmpty(node) ? undefined : node;
  }

  /** Every path of a value that was added or removed as a whole: its own, and all paths below. Throws UntrackableEntry. */
  allPathsOf(schema: Schema | undefined, value: unknown): FieldSet {
    this.#count();
    const shape = shapeOf(schema, value);
    if (shape.type === "leaf") return emptySet;
    // The node is a member from the beginning: adding the mark later would copy all paths below.
    const node = newMember();
    let isBare = true;
    if (shape.type === "entries") {
      for (const [element, entries] of entriesByElement(shape.list, asList(value))) {
        node[element] = entries.length > 1 ? {} : this.allPathsOf(shape.list.items, entries[0]);
        isBare = false;
      }
    } else if (isJsonObject(value)) {
      for (const name in value) {
        node[fieldElement(name)] = this.allPathsOf(memberSchemaOf(schema, name), value[name]);
        isBare = false;
      }
    }
    return isBare ? emptySet : node;
  }

  #count(): void {
    this.#fields += 1;
    if (this.#fields <= this.#maximum) return;
    throw tooLarge(
      `there are more than ${this.#maximum} fields in it, for each of which the server records its manager: send fewer fields`,
    );
  }
}

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;
