import { atomicList, boolean, int32, mapOf, named, object, string } from "../../../machinery/schema/schema.ts";
import { localObjectReference } from "../../../machinery/schema/object-references.ts";

export const gcePersistentDiskVolumeSource = object({
  goType: "v1.GCEPersistentDiskVolumeSource",
  description: "A GCE disk.",
  fields: {
    pdName: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's name." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    partition: { number: 3, schema: int32, description: "The partition to mount." },
    readOnly: { number: 4, schema: boolean, description: "Whether it can only be read." },
  },
});

export const awsElasticBlockStoreVolumeSource = object({
  goType: "v1.AWSElasticBlockStoreVolumeSource",
  description: "An AWS disk.",
  fields: {
    volumeID: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's id." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    partition: { number: 3, schema: int32, description: "The partition to mount." },
    readOnly: { number: 4, schema: boolean, description: "Whether it can only be read." },
  },
});

export const gitRepoVolumeSource = object({
  goType: "v1.GitRepoVolumeSource",
  description: "A Git repository.",
  fields: {
    repository: { number: 1, schema: string, presence: "always", isRequired: true, description: "The URL." },
    revision: { number: 2, schema: string, description: "The commit." },
    directory: { number: 3, schema: string, description: "The directory to clone into." },
  },
});

export const glusterfsVolumeSource = object({
  goType: "v1.GlusterfsVolumeSource",
  description: "A Glusterfs volume.",
  fields: {
    endpoints: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The Endpoints that name the servers.",
    },
    path: { number: 2, schema: string, presence: "always", isRequired: true, description: "The volume's path." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
  },
});

export const rbdVolumeSource = object({
  goType: "v1.RBDVolumeSource",
  description: "A Rados block device.",
  fields: {
    monitors: {
      number: 1,
      schema: atomicList(string),
      presence: "always",
      isRequired: true,
      description: "The Ceph monitors.",
    },
    image: { number: 2, schema: string, presence: "always", isRequired: true, description: "The Rados image." },
    fsType: { number: 3, schema: string, description: "The type of its file system." },
    pool: { number: 4, schema: string, default: "rbd", description: "The Rados pool." },
    user: { number: 5, schema: string, default: "admin", description: "The Rados user." },
    keyring: { number: 6, schema: string, default: "/etc/ceph/keyring", description: "The file with the user's key." },
    secretRef: {
      number: 7,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
    readOnly: { number: 8, schema: boolean, description: "Whether it can only be read." },
  },
});

export const flexVolumeSource = object({
  goType: "v1.FlexVolumeSource",
  description: "A volume of an exec plugin.",
  fields: {
    driver: { number: 1, schema: string, presence: "always", isRequired: true, description: "The driver's name." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    secretRef: {
      number: 3,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
    readOnly: { number: 4, schema: boolean, description: "Whether it can only be read." },
    options: { number: 5, schema: mapOf(string), description: "Options for the driver." },
  },
});

export const cinderVolumeSource = object({
  goType: "v1.CinderVolumeSource",
  description: "A Cinder disk.",
  fields: {
    volumeID: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's id." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
    secretRef: {
      number: 4,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
  },
});

export const cephFSVolumeSource = object({
  goType: "v1.CephFSVolumeSource",
  description: "A Ceph file system.",
  fields: {
    monitors: {
      number: 1,
      schema: atomicList(string),
      presence: "always",
      isRequired: true,
      description: "The Ceph monitors.",
    },
    path: { number: 2, schema: string, description: "The root to mount." },
    user: { number: 3, schema: string, description: "The Rados user." },
    secretFile: { number: 4, schema: string, description: "The file with the user's key." },
    secretRef: {
      number: 5,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
    readOnly: { number: 6, schema: boolean, description: "Whether it can only be read." },
  },
});

export const flockerVolumeSource = object({
  goType: "v1.FlockerVolumeSource",
  description: "A Flocker volume.",
  fields: {
    datasetName: { number: 1, schema: string, description: "The dataset's name." },
    datasetUUID: { number: 2, schema: string, description: "The dataset's uid." },
  },
});

export const azureFileVolumeSource = object({
  goType: "v1.AzureFileVolumeSource",
  description: "An Azure file share.",
  fields: {
    secretName: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The Secret with the account's name and key.",
    },
    shareName: { number: 2, schema: string, presence: "always", isRequired: true, description: "The share's name." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
  },
});

export const vsphereVirtualDiskVolumeSource = object({
  goType: "v1.VsphereVirtualDiskVolumeSource",
  description: "A vSphere disk.",
  fields: {
    volumePath: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's path." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    storagePolicyName: { number: 3, schema: string, description: "The storage policy's name." },
    storagePolicyID: { number: 4, schema: string, description: "The storage policy's id." },
  },
});

export const quobyteVolumeSource = object({
  goType: "v1.QuobyteVolumeSource",
  description: "A Quobyte volume.",
  fields: {
    registry: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The registries, as host:port, with commas between them.",
    },
    volume: { number: 2, schema: string, presence: "always", isRequired: true, description: "The volume's name." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
    user: { number: 4, schema: string, description: "The user that it is mounted as." },
    group: { number: 5, schema: string, description: "The group that it is mounted as." },
    tenant: { number: 6, schema: string, description: "The tenant that owns it." },
  },
});

export const azureDiskVolumeSource = object({
  goType: "v1.AzureDiskVolumeSource",
  description: "An Azure disk.",
  fields: {
    diskName: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's name." },
    diskURI: { number: 2, schema: string, presence: "always", isRequired: true, description: "The disk's URI." },
    cachingMode: {
      number: 3,
      schema: named(string, "v1.AzureDataDiskCachingMode"),
      presence: "pointer",
      default: "ReadWrite",
      description: "None, ReadOnly or ReadWrite.",
    },
    fsType: {
      number: 4,
      schema: string,
      presence: "pointer",
      default: "ext4",
      description: "The type of its file system.",
    },
    readOnly: {
      number: 5,
      schema: boolean,
      presence: "pointer",
      default: false,
      description: "Whether it can only be read.",
    },
    kind: {
      number: 6,
      schema: named(string, "v1.AzureDataDiskKind"),
      presence: "pointer",
      default: "Shared",
      description: "Shared, Dedicated or Managed.",
    },
  },
});

export const photonPersistentDiskVolumeSource = object({
  goType: "v1.PhotonPersistentDiskVolumeSource",
  description: "A Photon disk.",
  fields: {
    pdID: { number: 1, schema: string, presence: "always", isRequired: true, description: "The disk's id." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
  },
});

export const portworxVolumeSource = object({
  goType: "v1.PortworxVolumeSource",
  description: "A Portworx volume.",
  fields: {
    volumeID: { number: 1, schema: string, presence: "always", isRequired: true, description: "The volume's id." },
    fsType: { number: 2, schema: string, description: "The type of its file system." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
  },
});

export const scaleIOVolumeSource = object({
  goType: "v1.ScaleIOVolumeSource",
  description: "A ScaleIO volume.",
  fields: {
    gateway: { number: 1, schema: string, presence: "always", isRequired: true, description: "The gateway's address." },
    system: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The storage system's name.",
    },
    secretRef: {
      number: 3,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "nullable",
      description: "The Secret with the user's name and password.",
    },
    sslEnabled: { number: 4, schema: boolean, description: "Whether the gateway is spoken to over TLS." },
    protectionDomain: { number: 5, schema: string, description: "The protection domain's name." },
    storagePool: { number: 6, schema: string, description: "The storage pool's name." },
    storageMode: {
      number: 7,
      schema: string,
      default: "ThinProvisioned",
      description: "ThickProvisioned or ThinProvisioned.",
    },
    volumeName: { number: 8, schema: string, description: "The volume's name." },
    fsType: { number: 9, schema: string, default: "xfs", description: "The type of its file system." },
    readOnly: { number: 10, schema: boolean, description: "Whether it can only be read." },
  },
});

export const storageOSVolumeSource = object({
  goType: "v1.StorageOSVolumeSource",
  description: "A StorageOS volume.",
  fields: {
    volumeName: { number: 1, schema: string, description: "The volume's name." },
    volumeNamespace: { number: 2, schema: string, description: "The namespace that the volume is in." },
    fsType: { number: 3, schema: string, description: "The type of its file system." },
    readOnly: { number: 4, schema: boolean, description: "Whether it can only be read." },
    secretRef: {
      number: 5,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
  },
});
