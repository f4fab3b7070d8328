import { tooLarge } from "../../api/api-error.ts";
import { maximumValues } from "../../schema/value-limit.ts";
import { memberSchemaOf } from "../../schema/schema.ts";
import type { Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../../api/json-object.ts";
import { emptySet, isEmpty, newMember, withMember } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { isNamedField, shapeOf, asList, entriesByElement } from "./field-shape.ts";
import { fieldElement } from "./path-element.ts";

/**
 * The fields that an applied configuration sets: its leaves, list entries and map keys, but not the structs, lists and
 * maps around them (upstream: ToFieldSet). Throws UntrackableEntry.
 */
export const fieldsOf = (schema: Schema, object: unknown): FieldSet => appliedNode(schema, object) ?? emptySet;

function appliedNode(schema: Schema | undefined, value: unknown): FieldSet | undefined {
  const shape = shapeOf(schema, value);
  if (shape.type === "leaf") return emptySet;
  const node: FieldSet = {};
  if (shape.type === "entries") {
    for (const [element, entries] of entriesByElement(shape.list, asList(value))) {
      node[element] = entries.length > 1 ? {} : withMember(appliedNode(shape.list.items, entries[0]));
    }
  } else if (isJsonObject(value)) {
    for (const name in value) {
      const member = value[name];
      const child = appliedNode(memberSchemaOf(schema, name), member);
      const isOwn = member === null || isEmptyObject(member) || !isNamedField(schema, name);
      const field = isOwn ? withMember(child) : child;
      if (field !== undefined) node[fieldElement(name)] = field;
    }
  }
  return isEmpty(node) ? undefined : node;
}

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;

/** An object is stored with its values, and with two more for each field that a manager owns: `{"f:name": {}}`. */
const maximumFields = Math.floor(maximumValues / 3);

/**
 * Throws a 413 for an object with so many fields that it could not be stored with their managers: before the work that each
 * field takes.
 */
export function checkFieldCount(schema: Schema, object: unknown): void {
  if (countFields(schema, object) <= maximumFields) return;
  throw tooLarge(
    `there are more than ${maximumFields} fields in it, for each of which the server records its manager: send fewer fields`,
  );
}

function countFields(schema: Schema | undefined, value: unknown): number {
  const shape = shapeOf(schema, value);
  let count = 0;
  if (shape.type === "entries") {
    for (const entry of asList(value)) count += 1 + countFields(shape.list.items, entry);
  } else if (shape.type === "members" && isJsonObject(value)) {
    for (const name in value) count += 1 + countFields(memberSchemaOf(schema, name), value[name]);
  }
  return count;
}

/**
 * Every path of a value that was added or removed as a whole: its own and everything below. Throws UntrackableEntry.
 */
export function everyFieldOf(schema: Schema | undefined, value: unknown): FieldSet {
  const shape = shapeOf(schema, value);
  if (shape.type === "leaf") return emptySet;
  // Itself from the beginning: adding that later copies all that is below.
  const node = newMember();
  let isBare = true;
  if (shape.type === "entries") {
    for (const [element, entries] of entriesByElement(shape.list, asList(value))) {
      node[element] = entries.length > 1 ? {} : everyFieldOf(shape.list.items, entries[0]);
      isBare = false;
    }
  } else if (isJsonObject(value)) {
    for (const name in value) {
      node[fieldElement(name)] = everyFieldOf(memberSchemaOf(schema, name), value[name]);
      isBare = false;
    }
  }
  return isBare ? emptySet : node;
}
