import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, boolean, named, string } from "../../../machinery/schema/schema.ts";
import {
  always,
  atomicStruct,
  nullable,
  omitEmpty,
  pointer,
  required,
  struct,
} from "../../../machinery/schema/struct.ts";
import { labelSelector } from "../../../machinery/schema/label-selector-schema.ts";
import { resourceList } from "./container-resources.ts";

const volumeResourceRequirements = struct("v1.VolumeResourceRequirements", "How large a volume must be.", {
  limits: omitEmpty(1, resourceList, "The maximum amounts."),
  requests: omitEmpty(2, resourceList, "The minimum amounts."),
});

const typedLocalObjectReference = atomicStruct(
  "v1.TypedLocalObjectReference",
  "An object of any kind in the same namespace.",
  {
    apiGroup: nullable(1, string, "The group of the kind; none: the core group."),
    kind: required(2, string, "The kind."),
    name: required(3, string, "The name."),
  },
);

const typedObjectReference = struct("v1.TypedObjectReference", "An object of any kind.", {
  apiGroup: nullable(1, string, "The group of the kind; none: the core group."),
  kind: required(2, string, "The kind."),
  name: required(3, string, "The name."),
  namespace: pointer(4, string, "The namespace, the same by default."),
});

const persistentVolumeClaimSpec = struct("v1.PersistentVolumeClaimSpec", "What is claimed of a volume.", {
  accessModes: omitEmpty(
    1,
    atomicList(named(string, "v1.PersistentVolumeAccessMode")),
    "How it is mounted: ReadWriteOnce, ReadOnlyMany, ...",
  ),
  selector: pointer(4, labelSelector, "The labels of the volume."),
  resources: always(2, volumeResourceRequirements, "How large it must be."),
  volumeName: omitEmpty(3, string, "The volume itself."),
  storageClassName: pointer(5, string, "The StorageClass."),
  volumeMode: pointer(6, named(string, "v1.PersistentVolumeMode"), "Filesystem or Block.", { default: "Filesystem" }),
  dataSource: pointer(7, typedLocalObjectReference, "What the volume begins with: a snapshot or another claim."),
  dataSourceRef: pointer(8, typedObjectReference, "What the volume begins with, of any kind."),
  volumeAttributesClassName: pointer(9, string, "The VolumeAttributesClass."),
});

const persistentVolumeClaimTemplate = struct("v1.PersistentVolumeClaimTemplate", "A claim that is made for a Pod.", {
  metadata: always(1, objectMeta, "Labels and annotations of the claim."),
  spec: required(2, persistentVolumeClaimSpec, "What is claimed."),
});

export const ephemeralVolumeSource = struct(
  "v1.EphemeralVolumeSource",
  "A volume whose claim is made for the Pod and deleted with it.",
  {
    volumeClaimTemplate: pointer(1, persistentVolumeClaimTemplate, "The claim."),
  },
);

export const persistentVolumeClaimVolumeSource = struct(
  "v1.PersistentVolumeClaimVolumeSource",
  "The volume of a claim.",
  {
    claimName: required(1, string, "The claim in the Pod's namespace."),
    readOnly: omitEmpty(2, boolean, "Whether it is read-only."),
  },
);
