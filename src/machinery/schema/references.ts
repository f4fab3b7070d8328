import { isJsonObject, memberOf } from "../api/json/json-object.ts";
import type { Field, Schema } from "./schema.ts";

/** A reference from one object to another. A client that may read the first object gets the content of the second. */
export interface Reference {
  /** `Secret`, `ConfigMap`, `ServiceAccount`, ... */
  readonly kind: string;
  /** Empty when the name is left out or will be generated later. */
  readonly name: string;
  /** The field that contains the reference, such as `spec.volumes[0].secret`. */
  readonly path: string;
}

/**
 * Makes the function that returns every object that a decoded value refers to, in schema order: one for each present field
 * that is marked with `refersTo`. It takes time linear in the value, and walks no part that holds no references.
 */
export function compileReferences(schema: Schema): (value: unknown) => Reference[] {
  const visit = visitorOf(schema);
  return (value) => {
    const found: Reference[] = [];
    visit?.(value, { path: "", found });
    return found;
  };
}

interface Place {
  readonly path: string;
  readonly found: Reference[];
}

type Visit = (value: unknown, place: Place) => void;

/** Undefined for a schema without references, as most are. */
function visitorOf(schema: Schema): Visit | undefined {
  if (schema.type === "array") {
    const visit = visitorOf(schema.items);
    return (
      visit &&
      ((value, { path, found }) => {
        if (!Array.isArray(value)) return;
        for (const [index, item] of value.entries()) visit(item, { path: `${path}[${index}]`, found });
      })
    );
  }
  if (schema.type === "map") {
    const visit = visitorOf(schema.values);
    return (
      visit &&
      ((value, { path, found }) => {
        for (const [key, item] of Object.entries(value ?? {})) visit(item, { path: `${path}[${key}]`, found });
      })
    );
  }
  if (schema.type !== "object") return undefined;
  const fields = Object.entries(schema.fields)
    .map(([name, field]) => ({ name, field, visit: visitorOf(field.schema) }))
    .filter(({ field, visit }) => field.refersTo !== undefined || visit !== undefined);
  if (fields.length === 0) return undefined;
  return (value, { path, found }) => {
    if (!isJsonObject(value)) return;
    for (const { name, field, visit } of fields) {
      const member = memberOf(value, name);
      if (member === undefined || member === null) continue;
      const place = { path: path === "" ? name : `${path}.${name}`, found };
      if (field.refersTo !== undefined) {
        // Not `push(...)`: a list may be longer than the arguments of a call.
        for (const one of referencesIn(member, { ...field.refersTo, path: place.path })) found.push(one);
      }
      visit?.(member, place);
    }
  };
}

/** `member` is a name, an object that contains a name, or a list of these. An empty name refers to nothing. */
function referencesIn(
  member: unknown,
  { kind, nameIn, path }: NonNullable<Field["refersTo"]> & { readonly path: string },
): readonly Reference[] {
  if (Array.isArray(member)) {
    return member.map((item: unknown, index) => ({ kind, name: nameOf(item, nameIn), path: `${path}[${index}]` }));
  }
  return member === "" ? [] : [{ kind, name: nameOf(member, nameIn), path }];
}

function nameOf(value: unknown, nameIn: string | undefined): string {
  const name = nameIn !== undefined && isJsonObject(value) ? memberOf(value, nameIn) : value;
  return typeof name === "string" ? name : "";
}
