import { atomicList, boolean, int32, mapOf, string } from "../../../machinery/schema/schema.ts";
import { omitEmpty, pointer, refersTo, required, struct } from "../../../machinery/schema/struct.ts";
import { localObjectReference } from "../../../machinery/schema/object-references.ts";

export const nfsVolumeSource = struct("v1.NFSVolumeSource", "An NFS share.", {
  server: required(1, string, "The server's host name or address."),
  path: required(2, string, "The exported path."),
  readOnly: omitEmpty(3, boolean, "Whether it is read-only."),
});

export const iscsiVolumeSource = struct("v1.ISCSIVolumeSource", "An iSCSI disk.", {
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

export const fcVolumeSource = struct("v1.FCVolumeSource", "A Fibre Channel disk.", {
  targetWWNs: omitEmpty(1, atomicList(string), "The names of the target."),
  lun: pointer(2, int32, "The unit's number."),
  fsType: omitEmpty(3, string, "The type of its file system."),
  readOnly: omitEmpty(4, boolean, "Whether it is read-only."),
  wwids: omitEmpty(5, atomicList(string), "World wide identifiers, in place of targetWWNs and lun."),
});

export const csiVolumeSource = struct("v1.CSIVolumeSource", "A volume of a CSI driver, made for the Pod.", {
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
