import { timestamp } from "../../api/clock.ts";
import type { ApiObject, ManagedFieldsEntry } from "../../api/object-meta.ts";
import { runToEnd } from "../../api/run-to-end.ts";
import { trackUpdate } from "./track-update.ts";
import type { FieldWrite } from "./track-update.ts";

/**
 * How many shapes are remembered. Clients send thousands of reviews with few shapes. The limit protects the memory from a
 * client that sends many different ones.
 */
const maximumShapes = 1000;
const longestShape = 500;

/**
 * `trackUpdate` for the objects of a kind that are returned and never stored. Ownership depends on which fields an object has,
 * not on their values. So the result is computed once per shape and reused.
 */
export class TrackedReviews {
  readonly #known = new Map<string, readonly ManagedFieldsEntry[]>();

  track(write: FieldWrite, object: ApiObject): ApiObject {
    const shape = shapeOf(object);
    if (shape === undefined) return runToEnd(trackUpdate({ ...write, previous: undefined, next: object }));
    const key = `${write.manager}\n${write.apiVersion}\n${write.subresource}\n${shape}`;
    let entries = this.#known.get(key);
    if (entries === undefined) {
      entries = runToEnd(trackUpdate({ ...write, previous: undefined, next: object })).metadata.managedFields ?? [];
      if (this.#known.size < maximumShapes) this.#known.set(key, entries);
    }
    if (entries.length === 0) return object;
    const time = timestamp(write.now);
    return { ...object, metadata: { ...object.metadata, managedFields: entries.map((entry) => ({ ...entry, time })) } };
  }
}

/**
 * Identifies which fields an object has, and which of them are null or empty. Undefined when ownership depends on more:
 * lists in metadata are owned entry by entry. Also undefined for large objects, which are not worth remembering.
 */
function shapeOf({ metadata, ...rest }: ApiObject): string | undefined {
  if (Object.values(metadata).some(Array.isArray)) return undefined;
  const shape = shapeOfValue({ metadata, ...rest });
  return shape.length > longestShape ? undefined : shape;
}

function shapeOfValue(value: unknown): string {
  if (value === null) return "n";
  if (Array.isArray(value)) return value.length === 0 ? "e" : "l";
  if (typeof value !== "object") return value ? "v" : "z";
  let shape = "{";
  for (const [name, field] of Object.entries(value)) shape += `${JSON.stringify(name)}${shapeOfValue(field)}`;
  return `${shape}}`;
}
