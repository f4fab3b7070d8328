import { named, string } from "./schema.ts";
import { atomicStruct, omitEmpty } from "./struct.ts";

/** The name of an object in the same namespace. */
export const localObjectReference = atomicStruct("v1.LocalObjectReference", "Names an object in the same namespace.", {
  name: omitEmpty(1, string, "The name of the object."),
});

/** Any object, with as much as is known of it. */
export const objectReference = atomicStruct("v1.ObjectReference", "Refers to another object.", {
  kind: omitEmpty(1, string, "The kind of the object."),
  namespace: omitEmpty(2, string, "The namespace of the object."),
  name: omitEmpty(3, string, "The name of the object."),
  uid: omitEmpty(4, named(string, "types.UID"), "The uid of the object."),
  apiVersion: omitEmpty(5, string, "The API version of the object."),
  resourceVersion: omitEmpty(6, string, "The version of the referenced object."),
  fieldPath: omitEmpty(7, string, "The referenced part of the object, as a JSONPath."),
});
