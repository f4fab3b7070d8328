import type { ApiList, ListMeta } from "../api/object-meta.ts";
import type { Status } from "../api/status.ts";
import { metaPackage, objectMeta } from "./object-meta-schema.ts";
import { atomicList, boolean, int32, int64, named, object, string, time } from "./schema.ts";
import type { Field, ObjectSchema } from "./schema.ts";
import { omitEmpty, required } from "./struct.ts";

/** The first two fields of every kind. In protobuf they are in the envelope. */
export const typeMetaFields = {
  apiVersion: {
    number: 0,
    schema: string,
    presence: "always",
    description: "The group and version of this representation of the object.",
  },
  kind: { number: 0, schema: string, presence: "always", description: "The kind of the object." },
} as const satisfies Record<string, Field>;

/** The fields that every kind of object begins with. */
export const objectFields = {
  ...typeMetaFields,
  metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
} as const satisfies Record<string, Field>;

/** Metadata of lists (upstream: `metav1.ListMeta`). */
export const listMeta: ObjectSchema<ListMeta> = object({
  goType: "v1.ListMeta",
  package: metaPackage,
  description: "Metadata of lists, and of answers that are not stored objects.",
  fields: {
    selfLink: { number: 1, schema: string, description: "Deprecated: no longer set." },
    resourceVersion: { number: 2, schema: string, description: "The version of the store that the list was read at." },
    continue: { number: 3, schema: string, description: "Send it back to get the next page." },
    remainingItemCount: {
      number: 4,
      schema: int64,
      presence: "pointer",
      description: "The number of items after this page, when it is known.",
    },
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
      metadata: { number: 1, schema: listMeta, presence: "always", description: "Metadata of the list." },
      items: {
        number: 2,
        schema: atomicList(items),
        presence: "always",
        isRequired: true,
        description: "The objects of the list.",
      },
    },
  }) as ObjectSchema<ApiList<T>>; // `items` is never null in the lists that we make

const statusCause = object({
  goType: "v1.StatusCause",
  package: metaPackage,
  description: "One of the causes of a failure.",
  fields: {
    reason: { number: 1, schema: named(string, "v1.CauseType"), description: "The reason in one word, for programs." },
    message: { number: 2, schema: string, description: "The reason in a sentence, for people." },
    field: { number: 3, schema: string, description: "The path of the field with the fault." },
  },
});

const statusDetails = object({
  goType: "v1.StatusDetails",
  package: metaPackage,
  description: "What a Status is about.",
  fields: {
    name: { number: 1, schema: string, description: "The name of the object." },
    group: { number: 2, schema: string, description: "The API group of the object." },
    kind: { number: 3, schema: string, description: "The kind or the resource of the object." },
    causes: { number: 4, schema: atomicList(statusCause), description: "Each cause of the failure." },
    retryAfterSeconds: { number: 5, schema: int32, description: "Seconds to wait before the request is sent again." },
    uid: { number: 6, schema: named(string, "types.UID"), description: "The uid of the object." },
  },
});

/** The body of failures (upstream: `metav1.Status`). */
export const statusSchema: ObjectSchema<Status> = object({
  goType: "v1.Status",
  package: metaPackage,
  description: "The answer to a request that returns no other object.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: listMeta, presence: "always", description: "Standard list metadata." },
    status: { number: 2, schema: string, description: "Success or Failure." },
    message: { number: 3, schema: string, description: "The reason in a sentence, for people." },
    reason: {
      number: 4,
      schema: named(string, "v1.StatusReason"),
      description: "The reason in one word, for programs.",
    },
    details: { number: 5, schema: statusDetails, presence: "pointer", description: "What the status is about." },
    code: { number: 6, schema: int32, description: "The HTTP status code." },
  },
}) as ObjectSchema as ObjectSchema<Status>; // the hand-written type narrows the words that we answer

const preconditions = object({
  goType: "v1.Preconditions",
  package: metaPackage,
  description: "Conditions that an object must meet before it is changed.",
  fields: {
    uid: { number: 1, schema: named(string, "types.UID"), presence: "pointer", description: "Its uid." },
    resourceVersion: { number: 2, schema: string, presence: "pointer", description: "Its resourceVersion." },
  },
});

/** The optional body of a deletion (upstream: `metav1.DeleteOptions`). */
export const deleteOptionsSchema = object({
  goType: "v1.DeleteOptions",
  package: metaPackage,
  description: "Options for deleting an object.",
  fields: {
    ...typeMetaFields,
    gracePeriodSeconds: {
      number: 1,
      schema: int64,
      presence: "pointer",
      description: "Seconds that the object has to shut down; 0 deletes it immediately.",
    },
    preconditions: {
      number: 2,
      schema: preconditions,
      presence: "pointer",
      description: "Conditions that the object must meet. Otherwise the deletion is a conflict.",
    },
    orphanDependents: {
      number: 3,
      schema: boolean,
      presence: "pointer",
      description: "Deprecated: use propagationPolicy. Whether dependents are kept.",
    },
    propagationPolicy: {
      number: 4,
      schema: named(string, "v1.DeletionPropagation"),
      presence: "pointer",
      description: "What happens to dependents: Orphan, Background or Foreground.",
    },
    dryRun: {
      number: 5,
      schema: atomicList(string),
      description: "All: run every step, but store nothing.",
    },
    ignoreStoreReadErrorWithClusterBreakingPotential: {
      number: 6,
      schema: boolean,
      presence: "pointer",
      description: "Deletes an object that cannot be read from the store.",
    },
  },
});

/** The fields that the conditions of objects share, under upstream's numbers. `typeName` is the Go type of `type`. */
export const conditionFields = (typeName: string, typeDescription = "The kind of the condition.") =>
  ({
    type: required(1, named(string, typeName), typeDescription),
    status: required(2, named(string, "v1.ConditionStatus"), "True, False or Unknown."),
    lastTransitionTime: omitEmpty(4, time, "When the status last changed."),
    reason: omitEmpty(5, string, "The reason as one CamelCase word, for programs."),
    message: omitEmpty(6, string, "The reason as a sentence, for people."),
  }) as const;
