import {
  embeddedIn,
  int32,
  named,
  quantity,
  string,
  atomicList,
  boolean,
  mapOf,
} from "../../../../machinery/schema/schema.ts";
import {
  omitEmpty,
  pointer,
  refersTo,
  required,
  struct,
  always,
  atomicStruct,
  nullable,
} from "../../../../machinery/schema/struct.ts";
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  flexVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  gitRepoVolumeSource,
  glusterfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from "./deprecated-volumes.ts";
import {
  configMapVolumeSource,
  downwardAPIVolumeSource,
  projectedVolumeSource,
  secretVolumeSource,
} from "./volume-files.ts";
import { localObjectReference } from "../../../../machinery/schema/object-references.ts";
import { objectMeta } from "../../../../machinery/schema/object-meta-schema.ts";
import { labelSelector } from "../../../../machinery/schema/label-selector-schema.ts";
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

const ephemeralVolumeSource = struct(
  "v1.EphemeralVolumeSource",
  "A volume whose claim is made for the Pod and deleted with it.",
  {
    volumeClaimTemplate: pointer(1, persistentVolumeClaimTemplate, "The claim."),
  },
);

const persistentVolumeClaimVolumeSource = struct("v1.PersistentVolumeClaimVolumeSource", "The volume of a claim.", {
  claimName: required(1, string, "The claim in the Pod's namespace."),
  readOnly: omitEmpty(2, boolean, "Whether it is read-only."),
});

const nfsVolumeSource = struct("v1.NFSVolumeSource", "An NFS share.", {
  server: required(1, string, "The server's host name or address."),
  path: required(2, string, "The exported path."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
});

const iscsiVolumeSource = struct("v1.ISCSIVolumeSource", "An iSCSI disk.", {
  targetPortal: required(1, string, "The portal's address and port."),
  iqn: required(2, string, "The target's name."),
  lun: required(3, int32, "The unit's number."),
  iscsiInterface: omitEmpty(4, string, "The interface that is used.", { default: "default" }),
  fsType: omitEmpty(5, string, "The type of its file system."),
  readOnly: omitEmpty(6, boolean, "Whether it is read-only."),
  portals: omitEmpty(7, atomicList(string), "More portals."),
  chapAuthDiscovery: omitEmpty(8, boolean, "Whether discovery is authenticated by CHAP."),
  chapAuthSession: omitEmpty(11, boolean, "Whether sessions are authenticated by CHAP."),
  secretRef: pointer(10, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
  initiatorName: pointer(12, string, "The initiator's name."),
});

const fcVolumeSource = struct("v1.FCVolumeSource", "A Fibre Channel disk.", {
  targetWWNs: omitEmpty(1, atomicList(string), "The names of the target."),
  lun: pointer(2, int32, "The unit's number."),
  fsType: omitEmpty(3, string, "The type of its file system."),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
  wwids: omitEmpty(5, atomicList(string), "World wide identifiers, in place of targetWWNs and lun."),
});

const csiVolumeSource = struct("v1.CSIVolumeSource", "A volume of a CSI driver, made for the Pod.", {
  driver: required(1, string, "The driver's name."),
  readOnly: pointer(2, boolean, "Whether it is read-only."),
  fsType: pointer(3, string, "The type of its file system."),
  volumeAttributes: omitEmpty(4, mapOf(string), "Settings that the driver knows."),
  nodePublishSecretRef: pointer(
    5,
    localObjectReference,
    "The Secret that the driver gets.",
    refersTo("Secret", "name"),
  ),
});

const hostPathVolumeSource = struct("v1.HostPathVolumeSource", "A file or directory of the node.", {
  path: required(1, string, "The path on the node."),
  type: pointer(2, named(string, "v1.HostPathType"), "What must be there, and whether it is made.", { default: "" }),
});

const emptyDirVolumeSource = struct("v1.EmptyDirVolumeSource", "A directory that lives as long as its Pod.", {
  medium: omitEmpty(1, named(string, "v1.StorageMedium"), '"" for the node\'s disk, Memory for its memory.'),
  sizeLimit: pointer(2, quantity, "The most that it may hold."),
  mode: pointer(3, int32, "Its permission bits."),
});

const imageVolumeSource = struct("v1.ImageVolumeSource", "The content of an image.", {
  reference: omitEmpty(1, string, "The image."),
  pullPolicy: omitEmpty(2, named(string, "v1.PullPolicy"), "When the image is pulled: Always, IfNotPresent or Never."),
});

export const volume = struct("v1.Volume", "Something that containers can mount.", {
  name: required(1, string, "Unique within the Pod."),
  ...embeddedIn(2, {
    hostPath: pointer(1, hostPathVolumeSource, "A file or directory of the node."),
    emptyDir: pointer(2, emptyDirVolumeSource, "A directory that lives as long as the Pod."),
    gcePersistentDisk: pointer(3, gcePersistentDiskVolumeSource, "Deprecated: a GCE disk."),
    awsElasticBlockStore: pointer(4, awsElasticBlockStoreVolumeSource, "Deprecated: an AWS disk."),
    gitRepo: pointer(5, gitRepoVolumeSource, "Deprecated: a Git repository."),
    secret: pointer(6, secretVolumeSource, "The keys of a Secret as files.", refersTo("Secret", "secretName")),
    nfs: pointer(7, nfsVolumeSource, "An NFS share."),
    iscsi: pointer(8, iscsiVolumeSource, "An iSCSI disk."),
    glusterfs: pointer(9, glusterfsVolumeSource, "Deprecated: a Glusterfs volume.", refersTo("Endpoints", "endpoints")),
    persistentVolumeClaim: pointer(
      10,
      persistentVolumeClaimVolumeSource,
      "The volume of a claim.",
      refersTo("PersistentVolumeClaim", "claimName"),
    ),
    rbd: pointer(11, rbdVolumeSource, "Deprecated: a Rados block device."),
    flexVolume: pointer(12, flexVolumeSource, "Deprecated: a volume of an exec plugin."),
    cinder: pointer(13, cinderVolumeSource, "Deprecated: a Cinder disk."),
    cephfs: pointer(14, cephFSVolumeSource, "Deprecated: a Ceph file system."),
    flocker: pointer(15, flockerVolumeSource, "Deprecated: a Flocker volume."),
    downwardAPI: pointer(16, downwardAPIVolumeSource, "Fields of the Pod as files."),
    fc: pointer(17, fcVolumeSource, "A Fibre Channel disk."),
    azureFile: pointer(18, azureFileVolumeSource, "Deprecated: an Azure file share.", refersTo("Secret", "secretName")),
    configMap: pointer(19, configMapVolumeSource, "The keys of a ConfigMap as files.", refersTo("ConfigMap", "name")),
    vsphereVolume: pointer(20, vsphereVirtualDiskVolumeSource, "Deprecated: a vSphere disk."),
    quobyte: pointer(21, quobyteVolumeSource, "Deprecated: a Quobyte volume."),
    azureDisk: pointer(22, azureDiskVolumeSource, "Deprecated: an Azure disk."),
    photonPersistentDisk: pointer(23, photonPersistentDiskVolumeSource, "Deprecated: a Photon disk."),
    projected: pointer(26, projectedVolumeSource, "Several sources in one directory."),
    portworxVolume: pointer(24, portworxVolumeSource, "Deprecated: a Portworx volume."),
    scaleIO: pointer(25, scaleIOVolumeSource, "Deprecated: a ScaleIO volume."),
    storageos: pointer(27, storageOSVolumeSource, "Deprecated: a StorageOS volume."),
    csi: pointer(28, csiVolumeSource, "A volume of a CSI driver, made for the Pod.", refersTo("CSIDriver", "driver")),
    ephemeral: pointer(
      29,
      ephemeralVolumeSource,
      "A volume whose claim is made for the Pod.",
      refersTo("PersistentVolumeClaim"),
    ),
    image: pointer(30, imageVolumeSource, "The content of an image."),
  }),
});
