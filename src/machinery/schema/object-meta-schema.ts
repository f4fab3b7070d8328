import type { FieldsV1, ObjectMeta } from "../api/object-meta.ts";
import { any, boolean, int64, mapList, mapOf, object, setOf, atomicList, string, time } from "./schema.ts";
import type { AnySchema, ObjectSchema } from "./schema.ts";

/** The `package` of the types that every group shares. */
export const metaPackage = "apimachinery.pkg.apis.meta";

const fieldsV1: AnySchema<FieldsV1> = any as AnySchema<FieldsV1>; // any JSON, checked where managedFields are decoded

const ownerReference = object({
  goType: "v1.OwnerReference",
  package: metaPackage,
  description: "Identifies an owning object in the same namespace, or a cluster-scoped one.",
  isAtomic: true,
  fields: {
    apiVersion: {
      number: 5,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "API version of the owner.",
    },
    kind: { number: 1, schema: string, presence: "always", isRequired: true, description: "Kind of the owner." },
    name: { number: 3, schema: string, presence: "always", isRequired: true, description: "Name of the owner." },
    uid: { number: 4, schema: string, presence: "always", isRequired: true, description: "UID of the owner." },
    controller: {
      number: 6,
      schema: boolean,
      presence: "pointer",
      description: "Whether the owner is the managing controller.",
    },
    blockOwnerDeletion: {
      number: 7,
      schema: boolean,
      presence: "pointer",
      description: "Whether a foreground deletion of the owner waits for this object.",
    },
  },
});

const managedFieldsEntry = object({
  goType: "v1.ManagedFieldsEntry",
  package: metaPackage,
  description: "The fields that one manager owns at one API version.",
  fields: {
    manager: { number: 1, schema: string, description: "The name of the manager." },
    operation: { number: 2, schema: string, description: "How the manager set the fields: Apply or Update." },
    apiVersion: { number: 3, schema: string, description: "The API version that the fields belong to." },
    time: { number: 4, schema: time, presence: "pointer", description: "When the set of fields last changed." },
    fieldsType: { number: 6, schema: string, description: "The format of the fields: FieldsV1." },
    fieldsV1: {
      number: 7,
      schema: fieldsV1,
      presence: "pointer",
      description: "The fields, as nested maps of path elements.",
    },
    subresource: { number: 8, schema: string, description: "The subresource that the manager wrote to." },
  },
});

/** Standard metadata of every object (upstream: `metav1.ObjectMeta`). */
export const objectMeta: ObjectSchema<ObjectMeta> = object({
  goType: "v1.ObjectMeta",
  package: metaPackage,
  description: "Standard object metadata.",
  fields: {
    name: { number: 1, schema: string, description: "Unique within its kind and namespace. Cannot be changed." },
    generateName: {
      number: 2,
      schema: string,
      description: "A prefix from which the server makes a unique name when `name` is empty.",
    },
    namespace: {
      number: 3,
      schema: string,
      description: "The namespace of the object. Cannot be changed.",
    },
    selfLink: { number: 4, schema: string, description: "Deprecated: no longer set." },
    uid: { number: 5, schema: string, description: "Unique in time and space. Set by the server." },
    resourceVersion: {
      number: 6,
      schema: string,
      description: "The opaque version of the object, for optimistic concurrency and for watches. Set by the server.",
    },
    generation: { number: 7, schema: int64, description: "A number that grows with each change of the desired state." },
    creationTimestamp: { number: 8, schema: time, description: "When the object was created. Set by the server." },
    deletionTimestamp: {
      number: 9,
      schema: time,
      presence: "pointer",
      description: "When the object will be deleted. Set by the server on a graceful deletion.",
    },
    deletionGracePeriodSeconds: {
      number: 10,
      schema: int64,
      presence: "pointer",
      description: "Seconds that the object has to shut down before it is removed.",
    },
    labels: { number: 11, schema: mapOf(string), description: "Keys and values that selectors match." },
    annotations: {
      number: 12,
      schema: mapOf(string),
      description: "Keys and values for tools. Selectors do not match them.",
    },
    ownerReferences: {
      number: 13,
      schema: mapList(ownerReference, "uid"),
      description: "The objects that own this one. When all are gone, the garbage collector deletes it.",
    },
    finalizers: {
      number: 14,
      schema: setOf(string),
      description: "Must be empty before the object is removed. Each entry is removed by the component that added it.",
    },
    managedFields: {
      number: 17,
      schema: atomicList(managedFieldsEntry),
      description: "Which manager owns which fields.",
    },
  },
});
