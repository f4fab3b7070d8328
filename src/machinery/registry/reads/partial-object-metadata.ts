import type { ApiObject, ListMeta, ObjectMeta } from "../../api/object-meta.ts";
import { listMeta, typeMetaFields } from "../../schema/meta-schemas.ts";
import { objectMeta } from "../../schema/object-meta-schema.ts";
import { atomicList } from "../../schema/schema.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import { CompiledSchema } from "../definition/compiled-schema.ts";
import type { ObjectList } from "./list-objects.ts";
import { always, omitEmpty, struct } from "../../schema/struct.ts";

/** The versions of `meta.k8s.io` in which objects can be converted. Only their names differ. */
export type MetaVersion = "v1" | "v1beta1";

export interface PartialObjectMetadata {
  readonly kind: "PartialObjectMetadata";
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

interface PartialObjectMetadataList {
  readonly kind: "PartialObjectMetadataList";
  readonly apiVersion: string;
  readonly metadata: ListMeta;
  /** null when empty, as in upstream. */
  readonly items: readonly PartialObjectMetadata[] | null;
}

const partialObjectMetadataSchema = struct("v1.PartialObjectMetadata", "The metadata of an object of any kind.", {
  ...typeMetaFields,
  metadata: omitEmpty(1, objectMeta, "Standard object metadata."),
}) as ObjectSchema as ObjectSchema<PartialObjectMetadata>; // the hand-written type has the same fields

const partialObjectMetadataListSchema = struct("v1.PartialObjectMetadataList", "The metadata of many objects.", {
  ...typeMetaFields,
  metadata: omitEmpty(1, listMeta, "Metadata of the list."),
  items: always(2, atomicList(partialObjectMetadataSchema), "The metadata."),
}) as ObjectSchema as ObjectSchema<PartialObjectMetadataList>; // as above

export const compiledPartialMetadata = new CompiledSchema(partialObjectMetadataSchema);
export const compiledPartialMetadataList = new CompiledSchema(partialObjectMetadataListSchema);

/** Returns an object's metadata only. */
export const partialObjectMetadata = ({ metadata }: ApiObject, version: MetaVersion): PartialObjectMetadata => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata,
});

/** The metadata of a list, for every list format. */
export const listMetadata = <T extends ApiObject>({
  resourceVersion,
  continueToken,
  remainingItemCount,
}: ObjectList<T>): ListMeta => ({
  resourceVersion,
  ...(continueToken !== "" && { continue: continueToken }),
  ...(remainingItemCount !== undefined && { remainingItemCount }),
});
