import type { FieldsV1, ObjectMeta } from "../api/object-meta.ts";
import { any, atomicList, boolean, int64, mapList, mapOf, named, object, setList, string, time } from "./schema.ts";
import type { AnySchema, ObjectSchema } from "./schema.ts";
import { omitEmpty, pointer, required } from "./struct.ts";

/** The `package` of the types that every group shares. */
export const metaPackage = "apimachinery.pkg.apis.meta";

const fieldsV1: AnySchema<FieldsV1> = any as AnySchema<FieldsV1>; // any JSON, checked where managedFields are decoded

const ownerReference = object({
  goType: "v1.OwnerReference",
  package: metaPackage,
  description: "Identifies an owning object in the same namespace, or a cluster-scoped one.",
  isAtomic: true,
  fields: {
    apiVersion: required(5, string, "API version of the owner."),
    kind: required(1, string, "Kind of the owner."),
    name: required(3, string, "Name of the owner."),
    uid: required(4, named(string, "types.UID"), "UID of the owner."),
    controller: pointer(6, boolean, "Whether the owner is the managing controller."),
    blockOwnerDeletion: pointer(7, boolean, "Whether a foreground deletion of the owner waits for this object."),
  },
});

const managedFieldsEntry = object({
  goType: "v1.ManagedFieldsEntry",
  package: metaPackage,
  description: "The fields that one manager owns at one API version.",
  fields: {
    manager: omitEmpty(1, string, "The name of the manager."),
    operation: omitEmpty(2, string, "How the manager set the fields: Apply or Update."),
    apiVersion: omitEmpty(3, string, "The API version that the fields belong to."),
    time: pointer(4, time, "When the set of fields last changed."),
    fieldsType: omitEmpty(6, string, "The format of the fields: FieldsV1."),
    fieldsV1: pointer(7, fieldsV1, "The fields, as nested maps of path elements."),
    subresource: omitEmpty(8, string, "The subresource that the manager wrote to."),
  },
});

/** Standard metadata of every object (upstream: `metav1.ObjectMeta`). */
export const objectMeta: ObjectSchema<ObjectMeta> = object({
  goType: "v1.ObjectMeta",
  package: metaPackage,
  description: "Standard object metadata.",
  fields: {
    name: omitEmpty(1, string, "Unique within its kind and namespace. Cannot be changed."),
    generateName: omitEmpty(2, string, "A prefix from which the server makes a unique name when `name` is empty."),
    namespace: omitEmpty(3, string, "The namespace of the object. Cannot be changed."),
    selfLink: omitEmpty(4, string, "Deprecated: no longer set."),
    uid: omitEmpty(5, named(string, "types.UID"), "Unique in time and space. Set by the server."),
    resourceVersion: omitEmpty(
      6,
      string,
      "The opaque version of the object, for optimistic concurrency and for watches. Set by the server.",
    ),
    generation: omitEmpty(7, int64, "A number that grows with each change of the desired state."),
    creationTimestamp: omitEmpty(8, time, "When the object was created. Set by the server."),
    deletionTimestamp: pointer(9, time, "When the object will be deleted. Set by the server on a graceful deletion."),
    deletionGracePeriodSeconds: pointer(10, int64, "Seconds that the object has to shut down before it is removed."),
    labels: omitEmpty(11, mapOf(string), "Keys and values that selectors match."),
    annotations: omitEmpty(12, mapOf(string), "Keys and values for tools. Selectors do not match them."),
    ownerReferences: omitEmpty(
      13,
      mapList(ownerReference, "uid"),
      "The objects that own this one. When all are gone, the garbage collector deletes it.",
    ),
    finalizers: omitEmpty(
      14,
      setList(string),
      "Must be empty before the object is removed. Each entry is removed by the component that added it.",
    ),
    // An empty list is not the same as none: it resets the managers.
    managedFields: pointer(17, atomicList(managedFieldsEntry), "Which manager owns which fields."),
  },
});
