import { embeddedIn, int32, named, object, quantity, string } from "../../../machinery/schema/schema.ts";
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
import { csiVolumeSource, fcVolumeSource, iscsiVolumeSource, nfsVolumeSource } from "./network-volumes.ts";
import { ephemeralVolumeSource, persistentVolumeClaimVolumeSource } from "./volume-claim.ts";
import {
  configMapVolumeSource,
  downwardAPIVolumeSource,
  projectedVolumeSource,
  secretVolumeSource,
} from "./volume-files.ts";

const hostPathVolumeSource = object({
  goType: "v1.HostPathVolumeSource",
  description: "A file or directory of the node.",
  fields: {
    path: { number: 1, schema: string, presence: "always", isRequired: true, description: "The path on the node." },
    type: {
      number: 2,
      schema: named(string, "v1.HostPathType"),
      presence: "pointer",
      default: "",
      description: "What must be there, and whether it is made.",
    },
  },
});

const emptyDirVolumeSource = object({
  goType: "v1.EmptyDirVolumeSource",
  description: "A directory that lives as long as its Pod.",
  fields: {
    medium: {
      number: 1,
      schema: named(string, "v1.StorageMedium"),
      description: '"" for the node\'s disk, Memory for its memory.',
    },
    sizeLimit: { number: 2, schema: quantity, presence: "pointer", description: "The most that it may hold." },
    mode: { number: 3, schema: int32, presence: "pointer", description: "Its permission bits." },
  },
});

const imageVolumeSource = object({
  goType: "v1.ImageVolumeSource",
  description: "The content of an image.",
  fields: {
    reference: { number: 1, schema: string, description: "The image." },
    pullPolicy: {
      number: 2,
      schema: named(string, "v1.PullPolicy"),
      description: "When the image is pulled: Always, IfNotPresent or Never.",
    },
  },
});

export const volume = object({
  goType: "v1.Volume",
  description: "Something that containers can mount.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "Unique within the Pod." },
    ...embeddedIn(2, {
      hostPath: {
        number: 1,
        schema: hostPathVolumeSource,
        presence: "pointer",
        description: "A file or directory of the node.",
      },
      emptyDir: {
        number: 2,
        schema: emptyDirVolumeSource,
        presence: "pointer",
        description: "A directory that lives as long as the Pod.",
      },
      gcePersistentDisk: {
        number: 3,
        schema: gcePersistentDiskVolumeSource,
        presence: "pointer",
        description: "Deprecated: a GCE disk.",
      },
      awsElasticBlockStore: {
        number: 4,
        schema: awsElasticBlockStoreVolumeSource,
        presence: "pointer",
        description: "Deprecated: an AWS disk.",
      },
      gitRepo: {
        number: 5,
        schema: gitRepoVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Git repository.",
      },
      secret: {
        number: 6,
        refersTo: { kind: "Secret", nameIn: "secretName" },
        schema: secretVolumeSource,
        presence: "pointer",
        description: "The keys of a Secret as files.",
      },
      nfs: { number: 7, schema: nfsVolumeSource, presence: "pointer", description: "An NFS share." },
      iscsi: { number: 8, schema: iscsiVolumeSource, presence: "pointer", description: "An iSCSI disk." },
      glusterfs: {
        number: 9,
        refersTo: { kind: "Endpoints", nameIn: "endpoints" },
        schema: glusterfsVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Glusterfs volume.",
      },
      persistentVolumeClaim: {
        number: 10,
        refersTo: { kind: "PersistentVolumeClaim", nameIn: "claimName" },
        schema: persistentVolumeClaimVolumeSource,
        presence: "pointer",
        description: "The volume of a claim.",
      },
      rbd: {
        number: 11,
        schema: rbdVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Rados block device.",
      },
      flexVolume: {
        number: 12,
        schema: flexVolumeSource,
        presence: "pointer",
        description: "Deprecated: a volume of an exec plugin.",
      },
      cinder: {
        number: 13,
        schema: cinderVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Cinder disk.",
      },
      cephfs: {
        number: 14,
        schema: cephFSVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Ceph file system.",
      },
      flocker: {
        number: 15,
        schema: flockerVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Flocker volume.",
      },
      downwardAPI: {
        number: 16,
        schema: downwardAPIVolumeSource,
        presence: "pointer",
        description: "Fields of the Pod as files.",
      },
      fc: { number: 17, schema: fcVolumeSource, presence: "pointer", description: "A Fibre Channel disk." },
      azureFile: {
        number: 18,
        refersTo: { kind: "Secret", nameIn: "secretName" },
        schema: azureFileVolumeSource,
        presence: "pointer",
        description: "Deprecated: an Azure file share.",
      },
      configMap: {
        number: 19,
        refersTo: { kind: "ConfigMap", nameIn: "name" },
        schema: configMapVolumeSource,
        presence: "pointer",
        description: "The keys of a ConfigMap as files.",
      },
      vsphereVolume: {
        number: 20,
        schema: vsphereVirtualDiskVolumeSource,
        presence: "pointer",
        description: "Deprecated: a vSphere disk.",
      },
      quobyte: {
        number: 21,
        schema: quobyteVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Quobyte volume.",
      },
      azureDisk: {
        number: 22,
        schema: azureDiskVolumeSource,
        presence: "pointer",
        description: "Deprecated: an Azure disk.",
      },
      photonPersistentDisk: {
        number: 23,
        schema: photonPersistentDiskVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Photon disk.",
      },
      projected: {
        number: 26,
        schema: projectedVolumeSource,
        presence: "pointer",
        description: "Several sources in one directory.",
      },
      portworxVolume: {
        number: 24,
        schema: portworxVolumeSource,
        presence: "pointer",
        description: "Deprecated: a Portworx volume.",
      },
      scaleIO: {
        number: 25,
        schema: scaleIOVolumeSource,
        presence: "pointer",
        description: "Deprecated: a ScaleIO volume.",
      },
      storageos: {
        number: 27,
        schema: storageOSVolumeSource,
        presence: "pointer",
        description: "Deprecated: a StorageOS volume.",
      },
      csi: {
        number: 28,
        refersTo: { kind: "CSIDriver", nameIn: "driver" },
        schema: csiVolumeSource,
        presence: "pointer",
        description: "A volume of a CSI driver, made for the Pod.",
      },
      ephemeral: {
        number: 29,
        refersTo: { kind: "PersistentVolumeClaim" },
        schema: ephemeralVolumeSource,
        presence: "pointer",
        description: "A volume whose claim is made for the Pod.",
      },
      image: { number: 30, schema: imageVolumeSource, presence: "pointer", description: "The content of an image." },
    }),
  },
});
