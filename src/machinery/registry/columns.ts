import type { ApiObject } from "../api/object-meta.ts";
import type { Column } from "./resource-definition.ts";
import { ageOf } from "./human-duration.ts";

/** The time since the object was created. */
export const ageColumn = <T extends ApiObject>(): Column<T> => ({
  name: "Age",
  type: "string",
  description: "The time since the object was created.",
  cell: ({ metadata }, { now }) => ageOf(metadata.creationTimestamp, now),
});

/** The creation time. Shown for kinds that have no columns of their own upstream. */
export const createdAtColumn = <T extends ApiObject>(): Column<T> => ({
  name: "Created At",
  type: "date",
  description: "When the object was created.",
  cell: ({ metadata }) => metadata.creationTimestamp ?? null,
});
