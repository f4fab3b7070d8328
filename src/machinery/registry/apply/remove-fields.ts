import { memberSchemaOf } from "../../schema/schema.ts";
import type { Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../../api/json-object.ts";
import type { JsonObject } from "../../api/json-object.ts";
import { setMember } from "../patch/json-value.ts";
import { below, isEmpty } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { shapeOf } from "./field-shape.ts";
import { entryElement, fieldElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";

/**
 * Returns the value without the fields of the set. A container that becomes empty is replaced by null (as upstream);
 * decoding drops it. Does not change its inputs. Throws UntrackableEntry.
 */
export function removeFields(schema: Schema | undefined, value: unknown, fields: FieldSet): unknown {
  if (isEmpty(fields)) return value;
  const shape = shapeOf(schema, value);
  if (shape.type === "leaf") return Array.isArray(value) || isJsonObject(value) ? null : value;
  if (shape.type === "entries") {
    if (!Array.isArray(value)) return null;
    const kept = value.flatMap((entry: unknown) => {
      const rest = withoutFields(fields, entryElement(shape.list, entry), { schema: shape.list.items, value: entry });
      return rest === undefined ? [] : [rest];
    });
    return kept.length === 0 ? null : kept;
  }
  if (!isJsonObject(value)) return null;
  const kept: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    const rest = withoutFields(fields, fieldElement(name), { schema: memberSchemaOf(schema, name), value: member });
    if (rest !== undefined) setMember(kept, name, rest);
  }
  return isEmptyObject(kept) ? null : kept;
}

const isEmptyObject = (object: JsonObject): boolean => Object.keys(object).length === 0;

/** Undefined when the element itself is removed. */
function withoutFields(
  fields: FieldSet,
  element: PathElement,
  { schema, value }: { readonly schema: Schema | undefined; readonly value: unknown },
): unknown {
  const part = below(fields, element);
  if (part === undefined) return value;
  return part.isMember ? undefined : removeFields(schema, value, part.children);
}
