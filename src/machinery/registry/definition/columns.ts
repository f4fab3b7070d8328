import type { Names } from "../../api/names.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { Column } from "./resource-definition.ts";
import { ageOf } from "./human-duration.ts";
import { zeroTime } from "../../schema/go-time.ts";

/** The object's name: the first column of almost every kind. */
export const nameColumn = <T extends ApiObject>(names: Names): Column<T> => ({
  name: "Name",
  format: "name",
  description: nameDescription(names),
  cell: ({ metadata }) => metadata.name ?? "",
});

/** The time since the object was created. */
export const ageColumn = <T extends ApiObject>(names: Names): Column<T> => ({
  name: "Age",
  description: creationDescription(names),
  cell: ({ metadata }, { now }) => ageOf(metadata.creationTimestamp, now),
});

/** The creation time. Shown for kinds that have no columns of their own upstream. Go's zero time in a bookmark, which has no object. */
export const createdAtColumn = <T extends ApiObject>(names: Names): Column<T> => ({
  name: "Created At",
  type: "date",
  description: creationDescription(names),
  cell: ({ metadata }) => metadata.creationTimestamp ?? zeroTime,
});

/** Upstream's description of the name, because clients compare whole tables. */
export const nameDescription = ({ domain }: Names): string =>
  `Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://${domain}/docs/concepts/overview/working-with-objects/names#names`;

const creationDescription = (names: Names): string =>
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\n" +
  `Populated by the system. Read-only. Null for lists. More info: https://git.${shortLinkDomain(names)}/community/contributors/devel/sig-architecture/api-conventions.md#metadata`;

/** The domain of the short links in upstream's descriptions. */
export const shortLinkDomain = ({ domain, profile }: Names): string => (profile === "kubernetes" ? "k8s.io" : domain);
