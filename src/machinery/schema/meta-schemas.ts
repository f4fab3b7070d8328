import type { ApiList, ListMeta } from "../api/object-meta.ts";
import type { Status } from "../api/status.ts";
import { metaPackage } from "./object-meta-schema.ts";
import { atomicList, boolean, int32, int64, named, object, string } from "./schema.ts";
import type { Field, ObjectSchema } from "./schema.ts";

/** The two fields that every kind begins with. Protobuf carries them in its envelope. */
export const typeMetaFields = {
  apiVersion: {
    number: 0,
    schema: string,
    presence: "always",
    description: "The group and version of this representation of the object.",
  },
  kind: { number: 0, schema: string, presence: "always", description: "The kind of the object." },
} as const satisfies Record<string, Field>;

/** Metadata of lists (upstream: `metav1.ListMeta`). */
export const listMeta: ObjectSchema<ListMeta> = object({
  goType: "v1.ListMeta",
  package: metaPackage,
  description: "Metadata of lists, and of answers that are no stored object.",
  fields: {
    selfLink: { number: 1, schema: string, description: "Deprecated: no longer set." },
    resourceVersion: { number: 2, schema: string, description: "The version of the store that the list shows." },
    continue: { number: 3, schema: string, description: "Asks for the next page when it is sent back." },
    remainingItemCount: {
      number: 4,
      schema: int64,
      presence: "pointer",
      description: "How many items follow this page, where that is known.",
    },
  },
});

/** The list of a kind: `ServiceAccountList`. */
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
    reason: { number: 1, schema: named(string, "v1.CauseType"), description: "A word for machines." },
    message: { number: 2, schema: string, description: "A sentence for people." },
    field: { number: 3, schema: string, description: "The path of the field that caused it." },
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
  description: "The answer of a request that returns no other object.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: listMeta, presence: "always", description: "Standard list metadata." },
    status: { number: 2, schema: string, description: "Success or Failure." },
    message: { number: 3, schema: string, description: "A sentence for people." },
    reason: { number: 4, schema: named(string, "v1.StatusReason"), description: "A word for machines." },
    details: { number: 5, schema: statusDetails, presence: "pointer", description: "What the status is about." },
    code: { number: 6, schema: int32, description: "The HTTP status code." },
  },
}) as ObjectSchema as ObjectSchema<Status>; // the hand-written type narrows the words that we answer

const preconditions = object({
  goType: "v1.Preconditions",
  package: metaPackage,
  description: "What must be true of an object before it is changed.",
  fields: {
    uid: { number: 1, schema: named(string, "types.UID"), presence: "pointer", description: "Its uid." },
    resourceVersion: { number: 2, schema: string, presence: "pointer", description: "Its resourceVersion." },
  },
});

/** The optional body of a deletion (upstream: `metav1.DeleteOptions`). */
export const deleteOptions = object({
  goType: "v1.DeleteOptions",
  package: metaPackage,
  description: "How an object is to be deleted.",
  fields: {
    ...typeMetaFields,
    gracePeriodSeconds: {
      number: 1,
      schema: int64,
      presence: "pointer",
      description: "Seconds that the object has to end; 0 deletes at once.",
    },
    preconditions: {
      number: 2,
      schema: preconditions,
      presence: "pointer",
      description: "What must be true of the object, else the deletion is a conflict.",
    },
    orphanDependents: {
      number: 3,
      schema: boolean,
      presence: "pointer",
      description: "Deprecated: use propagationPolicy. Whether dependents are left behind.",
    },
    propagationPolicy: {
      number: 4,
      schema: named(string, "v1.DeletionPropagation"),
      presence: "pointer",
      description: "What becomes of dependents: Orphan, Background or Foreground.",
    },
    dryRun: {
      number: 5,
      schema: atomicList(string),
      description: "All: go through every step, but store nothing.",
    },
    ignoreStoreReadErrorWithClusterBreakingPotential: {
      number: 6,
      schema: boolean,
      presence: "pointer",
      description: "Deletes an object that cannot be read from the store.",
    },
  },
});
