import { atomicList, boolean, int32, mapOf, named, string } from "../../../../machinery/schema/schema.ts";
import { nullable, omitEmpty, pointer, refersTo, required, struct } from "../../../../machinery/schema/struct.ts";
import { localObjectReference } from "../../../../machinery/schema/object-references.ts";

export const gcePersistentDiskVolumeSource = struct("v1.GCEPersistentDiskVolumeSource", "A GCE disk.", {
  pdName: required(1, string, "The disk's name."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  partition: omitEmpty(3, int32, "The partition to mount."),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
});

export const awsElasticBlockStoreVolumeSource = struct("v1.AWSElasticBlockStoreVolumeSource", "An AWS disk.", {
  volumeID: required(1, string, "The disk's id."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  partition: omitEmpty(3, int32, "The partition to mount."),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
});

export const gitRepoVolumeSource = struct("v1.GitRepoVolumeSource", "A Git repository.", {
  repository: required(1, string, "The URL."),
  revision: omitEmpty(2, string, "The commit."),
  directory: omitEmpty(3, string, "The directory to clone into."),
});

export const glusterfsVolumeSource = struct("v1.GlusterfsVolumeSource", "A Glusterfs volume.", {
  endpoints: required(1, string, "The Endpoints that name the servers."),
  path: required(2, string, "The volume's path."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
});

export const rbdVolumeSource = struct("v1.RBDVolumeSource", "A Rados block device.", {
  monitors: required(1, atomicList(string), "The Ceph monitors."),
  image: required(2, string, "The Rados image."),
  fsType: omitEmpty(3, string, "The type of its file system."),
  pool: omitEmpty(4, string, "The Rados pool.", { default: "rbd" }),
  user: omitEmpty(5, string, "The Rados user.", { default: "admin" }),
  keyring: omitEmpty(6, string, "The file with the user's key.", { default: "/etc/ceph/keyring" }),
  secretRef: pointer(7, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
  readOnly: omitEmpty(8, boolean, "Whether it is read-only."),
});

export const flexVolumeSource = struct("v1.FlexVolumeSource", "A volume of an exec plugin.", {
  driver: required(1, string, "The driver's name."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  secretRef: pointer(3, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
  options: omitEmpty(5, mapOf(string), "Options for the driver."),
});

export const cinderVolumeSource = struct("v1.CinderVolumeSource", "A Cinder disk.", {
  volumeID: required(1, string, "The disk's id."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
  secretRef: pointer(4, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
});

export const cephFSVolumeSource = struct("v1.CephFSVolumeSource", "A Ceph file system.", {
  monitors: required(1, atomicList(string), "The Ceph monitors."),
  path: omitEmpty(2, string, "The root to mount."),
  user: omitEmpty(3, string, "The Rados user."),
  secretFile: omitEmpty(4, string, "The file with the user's key."),
  secretRef: pointer(5, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
  readOnly: omitEmpty(6, boolean, "Whether it is read-only."),
});

export const flockerVolumeSource = struct("v1.FlockerVolumeSource", "A Flocker volume.", {
  datasetName: omitEmpty(1, string, "The dataset's name."),
  datasetUUID: omitEmpty(2, string, "The dataset's uid."),
});

export const azureFileVolumeSource = struct("v1.AzureFileVolumeSource", "An Azure file share.", {
  secretName: required(1, string, "The Secret with the account's name and key."),
  shareName: required(2, string, "The share's name."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
});

export const vsphereVirtualDiskVolumeSource = struct("v1.VsphereVirtualDiskVolumeSource", "A vSphere disk.", {
  volumePath: required(1, string, "The disk's path."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  storagePolicyName: omitEmpty(3, string, "The storage policy's name."),
  storagePolicyID: omitEmpty(4, string, "The storage policy's id."),
});

export const quobyteVolumeSource = struct("v1.QuobyteVolumeSource", "A Quobyte volume.", {
  registry: required(1, string, "The registries, as host:port, with commas between them."),
  volume: required(2, string, "The volume's name."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
  user: omitEmpty(4, string, "The user that it is mounted as."),
  group: omitEmpty(5, string, "The group that it is mounted as."),
  tenant: omitEmpty(6, string, "The tenant that owns it."),
});

export const azureDiskVolumeSource = struct("v1.AzureDiskVolumeSource", "An Azure disk.", {
  diskName: required(1, string, "The disk's name."),
  diskURI: required(2, string, "The disk's URI."),
  cachingMode: pointer(3, named(string, "v1.AzureDataDiskCachingMode"), "None, ReadOnly or ReadWrite.", {
    default: "ReadWrite",
  }),
  fsType: pointer(4, string, "The type of its file system.", { default: "ext4" }),
  readOnly: pointer(5, boolean, "Whether it is read-only.", { default: false }),
  kind: pointer(6, named(string, "v1.AzureDataDiskKind"), "Shared, Dedicated or Managed.", { default: "Shared" }),
});

export const photonPersistentDiskVolumeSource = struct("v1.PhotonPersistentDiskVolumeSource", "A Photon disk.", {
  pdID: required(1, string, "The disk's id."),
  fsType: omitEmpty(2, string, "The type of its file system."),
});

export const portworxVolumeSource = struct("v1.PortworxVolumeSource", "A Portworx volume.", {
  volumeID: required(1, string, "The volume's id."),
  fsType: omitEmpty(2, string, "The type of its file system."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
});

export const scaleIOVolumeSource = struct("v1.ScaleIOVolumeSource", "A ScaleIO volume.", {
  gateway: required(1, string, "The gateway's address."),
  system: required(2, string, "The storage system's name."),
  secretRef: nullable(3, localObjectReference, "The Secret with the user's name and password.", {
    ...refersTo("Secret", "name"),
    isRequired: true,
  }),
  sslEnabled: omitEmpty(4, boolean, "Whether the gateway uses TLS."),
  protectionDomain: omitEmpty(5, string, "The protection domain's name."),
  storagePool: omitEmpty(6, string, "The storage pool's name."),
  storageMode: omitEmpty(7, string, "ThickProvisioned or ThinProvisioned.", { default: "ThinProvisioned" }),
  volumeName: omitEmpty(8, string, "The volume's name."),
  fsType: omitEmpty(9, string, "The type of its file system.", { default: "xfs" }),
  readOnly: omitEmpty(10, boolean, "Whether it is read-only."),
});

export const storageOSVolumeSource = struct("v1.StorageOSVolumeSource", "A StorageOS volume.", {
  volumeName: omitEmpty(1, string, "The volume's name."),
  volumeNamespace: omitEmpty(2, string, "The namespace that the volume is in."),
  fsType: omitEmpty(3, string, "The type of its file system."),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
  secretRef: pointer(5, localObjectReference, "The Secret with the credentials.", refersTo("Secret", "name")),
});
