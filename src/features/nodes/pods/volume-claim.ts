import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, boolean, named, object, string } from "../../../machinery/schema/schema.ts";
import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { resourceList } from "./container-resources.ts";

const volumeResourceRequirements = object({
  goType: "v1.VolumeResourceRequirements",
  description: "How large a volume must be.",
  fields: {
    limits: { number: 1, schema: resourceList, description: "At most this." },
    requests: { number: 2, schema: resourceList, description: "At least this." },
  },
});

const typedLocalObjectReference = object({
  goType: "v1.TypedLocalObjectReference",
  description: "An object of any kind in the same namespace.",
  isAtomic: true,
  fields: {
    apiGroup: {
      number: 1,
      schema: string,
      presence: "nullable",
      description: "The group of the kind; none: the core group.",
    },
    kind: { number: 2, schema: string, presence: "always", isRequired: true, description: "The kind." },
    name: { number: 3, schema: string, presence: "always", isRequired: true, description: "The name." },
  },
});

const typedObjectReference = object({
  goType: "v1.TypedObjectReference",
  description: "An object of any kind.",
  fields: {
    apiGroup: {
      number: 1,
      schema: string,
      presence: "nullable",
      description: "The group of the kind; none: the core group.",
    },
    kind: { number: 2, schema: string, presence: "always", isRequired: true, description: "The kind." },
    name: { number: 3, schema: string, presence: "always", isRequired: true, description: "The name." },
    namespace: { number: 4, schema: string, presence: "pointer", description: "The namespace, the same by default." },
  },
});

const persistentVolumeClaimSpec = object({
  goType: "v1.PersistentVolumeClaimSpec",
  description: "What is claimed of a volume.",
  fields: {
    accessModes: {
      number: 1,
      schema: atomicList(named(string, "v1.PersistentVolumeAccessMode")),
      description: "How it is mounted: ReadWriteOnce, ReadOnlyMany, ...",
    },
    selector: { number: 4, schema: labelSelector, presence: "pointer", description: "The labels of the volume." },
    resources: {
      number: 2,
      schema: volumeResourceRequirements,
      presence: "always",
      description: "How large it must be.",
    },
    volumeName: { number: 3, schema: string, description: "The volume itself." },
    storageClassName: { number: 5, schema: string, presence: "pointer", description: "The StorageClass." },
    volumeMode: {
      number: 6,
      schema: named(string, "v1.PersistentVolumeMode"),
      presence: "pointer",
      default: "Filesystem",
      description: "Filesystem or Block.",
    },
    dataSource: {
      number: 7,
      schema: typedLocalObjectReference,
      presence: "pointer",
      description: "What the volume begins with: a snapshot or another claim.",
    },
    dataSourceRef: {
      number: 8,
      schema: typedObjectReference,
      presence: "pointer",
      description: "What the volume begins with, of any kind.",
    },
    volumeAttributesClassName: {
      number: 9,
      schema: string,
      presence: "pointer",
      description: "The VolumeAttributesClass.",
    },
  },
});

const persistentVolumeClaimTemplate = object({
  goType: "v1.PersistentVolumeClaimTemplate",
  description: "A claim that is made for a Pod.",
  fields: {
    metadata: {
      number: 1,
      schema: objectMeta,
      presence: "always",
      description: "Labels and annotations of the claim.",
    },
    spec: {
      number: 2,
      schema: persistentVolumeClaimSpec,
      presence: "always",
      isRequired: true,
      description: "What is claimed.",
    },
  },
});

export const ephemeralVolumeSource = object({
  goType: "v1.EphemeralVolumeSource",
  description: "A volume whose claim is made for the Pod and deleted with it.",
  fields: {
    volumeClaimTemplate: {
      number: 1,
      schema: persistentVolumeClaimTemplate,
      presence: "pointer",
      description: "The claim.",
    },
  },
});

export const persistentVolumeClaimVolumeSource = object({
  goType: "v1.PersistentVolumeClaimVolumeSource",
  description: "The volume of a claim.",
  fields: {
    claimName: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The claim in the Pod's namespace.",
    },
    readOnly: { number: 2, schema: boolean, description: "Whether it can only be read." },
  },
});
