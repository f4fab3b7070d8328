import { named, object, string } from "./schema.ts";

/** The name of an object in the same namespace. */
export const localObjectReference = object({
  goType: "v1.LocalObjectReference",
  description: "Names an object in the same namespace.",
  isAtomic: true,
  fields: {
    name: { number: 1, schema: string, description: "The name of the object." },
  },
});

/** Any object, with as much as is known of it. */
export const objectReference = object({
  goType: "v1.ObjectReference",
  description: "Refers to another object.",
  isAtomic: true,
  fields: {
    kind: { number: 1, schema: string, description: "The kind of the object." },
    namespace: { number: 2, schema: string, description: "The namespace of the object." },
    name: { number: 3, schema: string, description: "The name of the object." },
    uid: { number: 4, schema: named(string, "types.UID"), description: "The uid of the object." },
    apiVersion: { number: 5, schema: string, description: "The API version of the object." },
    resourceVersion: { number: 6, schema: string, description: "The version of the referenced object." },
    fieldPath: { number: 7, schema: string, description: "The referenced part of the object, as a JSONPath." },
  },
});
