import type { ApiList, ListMeta } from "../api/object-meta.ts";
import type { Status } from "../api/status.ts";
import { metaPackage, objectMeta } from "./object-meta-schema.ts";
import { atomicList, boolean, int32, int64, named, object, string, time } from "./schema.ts";
import type { Field, ObjectSchema } from "./schema.ts";
import { omitEmpty, required, always, pointer } from "./struct.ts";

/** The first two fields of every kind. In protobuf they are in the envelope. */
export const typeMetaFields = {
  apiVersion: always(0, string, "The group and version of this representation of the object."),
  kind: always(0, string, "The kind of the object."),
} as const satisfies Record<string, Field>;

/** The fields that every kind of object begins with. */
export const objectFields = {
  ...typeMetaFields,
  metadata: always(1, objectMeta, "Standard object metadata."),
} as const satisfies Record<string, Field>;

/** Metadata of lists (upstream: `metav1.ListMeta`). */
export const listMeta: ObjectSchema<ListMeta> = object({
  goType: "v1.ListMeta",
  package: metaPackage,
  description: "Metadata of lists, and of answers that are not stored objects.",
  fields: {
    selfLink: omitEmpty(1, string, "Deprecated: no longer set."),
    resourceVersion: omitEmpty(2, string, "The version of the store that the list was read at."),
    continue: omitEmpty(3, string, "Send it back to get the next page."),
    remainingItemCount: pointer(4, int64, "The number of items after this page, when it is known."),
  },
});

/** The list type of a kind, such as `ServiceAccountList`. */
export const listSchema = <T>(items: ObjectSchema<T>): ObjectSchema<ApiList<T>> =>
  object({
    goType: `${items.goType}List`,
    ...(items.package !== undefined && { package: items.package }),
    description: `A list of ${items.goType.slice(items.goType.indexOf(".") + 1)} objects.`,
    fields: {
      ...typeMetaFields,
      metadata: always(1, listMeta, "Metadata of the list."),
      items: required(2, atomicList(items), "The objects of the list."),
    },
  }) as ObjectSchema<ApiList<T>>; // `items` is never null in the lists that the server makes

const statusCause = object({
  goType: "v1.StatusCause",
  package: metaPackage,
  description: "One of the causes of a failure.",
  fields: {
    reason: omitEmpty(1, named(string, "v1.CauseType"), "The reason in one word, for programs."),
    message: omitEmpty(2, string, "The reason in a sentence, for people."),
    field: omitEmpty(3, string, "The path of the field with the fault."),
  },
});

const statusDetails = object({
  goType: "v1.StatusDetails",
  package: metaPackage,
  description: "What a Status is about.",
  fields: {
    name: omitEmpty(1, string, "The name of the object."),
    group: omitEmpty(2, string, "The API group of the object."),
    kind: omitEmpty(3, string, "The kind or the resource of the object."),
    causes: omitEmpty(4, atomicList(statusCause), "Each cause of the failure."),
    retryAfterSeconds: omitEmpty(5, int32, "Seconds to wait before the request is sent again."),
    uid: omitEmpty(6, named(string, "types.UID"), "The uid of the object."),
  },
});

/** The body of failures (upstream: `metav1.Status`). */
export const statusSchema: ObjectSchema<Status> = object({
  goType: "v1.Status",
  package: metaPackage,
  description: "The answer to a request that returns no other object.",
  fields: {
    ...typeMetaFields,
    metadata: always(1, listMeta, "Standard list metadata."),
    status: omitEmpty(2, string, "Success or Failure."),
    message: omitEmpty(3, string, "The reason in a sentence, for people."),
    reason: omitEmpty(4, named(string, "v1.StatusReason"), "The reason in one word, for programs."),
    details: pointer(5, statusDetails, "What the status is about."),
    code: omitEmpty(6, int32, "The HTTP status code."),
  },
}) as ObjectSchema as ObjectSchema<Status>; // the hand-written type permits only the values that the server sends

const preconditions = object({
  goType: "v1.Preconditions",
  package: metaPackage,
  description: "Conditions that an object must meet before it is changed.",
  fields: {
    uid: pointer(1, named(string, "types.UID"), "Its uid."),
    resourceVersion: pointer(2, string, "Its resourceVersion."),
  },
});

/** The optional body of a deletion (upstream: `metav1.DeleteOptions`). */
export const deleteOptionsSchema = object({
  goType: "v1.DeleteOptions",
  package: metaPackage,
  description: "Options for deleting an object.",
  fields: {
    ...typeMetaFields,
    gracePeriodSeconds: pointer(1, int64, "Seconds that the object has to shut down; 0 deletes it immediately."),
    preconditions: pointer(
      2,
      preconditions,
      "Conditions that the object must meet. Otherwise the deletion is a conflict.",
    ),
    orphanDependents: pointer(3, boolean, "Deprecated: use propagationPolicy. Whether dependents are kept."),
    propagationPolicy: pointer(
      4,
      named(string, "v1.DeletionPropagation"),
      "What happens to dependents: Orphan, Background or Foreground.",
    ),
    dryRun: omitEmpty(5, atomicList(string), "All: run every step, but store nothing."),
    ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
      6,
      boolean,
      "Deletes an object that cannot be read from the store.",
    ),
  },
});

/** The fields that the conditions of objects share, under upstream's numbers. `typeName` is the Go type of `type`. */
export const conditionFields = (typeName: string, typeDescription = "The kind of the condition.") =>
  ({
    type: required(1, named(string, typeName), typeDescription),
    status: required(2, named(string, "v1.ConditionStatus"), "True, False or Unknown."),
    lastTransitionTime: always(4, time, "When the status last changed."),
    reason: omitEmpty(5, string, "The reason as one CamelCase word, for programs."),
    message: omitEmpty(6, string, "The reason as a sentence, for people."),
  }) as const;
