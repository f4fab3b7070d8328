import { atomicList, boolean, int32, mapOf, object, string } from "../../../machinery/schema/schema.ts";
import { localObjectReference } from "../../../machinery/schema/object-references.ts";

export const nfsVolumeSource = object({
  goType: "v1.NFSVolumeSource",
  description: "An NFS share.",
  fields: {
    server: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The server's host name or address.",
    },
    path: { number: 2, schema: string, presence: "always", isRequired: true, description: "The exported path." },
    readOnly: { number: 3, schema: boolean, description: "Whether it can only be read." },
  },
});

export const iscsiVolumeSource = object({
  goType: "v1.ISCSIVolumeSource",
  description: "An iSCSI disk.",
  fields: {
    targetPortal: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The portal's address and port.",
    },
    iqn: { number: 2, schema: string, presence: "always", isRequired: true, description: "The target's name." },
    lun: { number: 3, schema: int32, presence: "always", isRequired: true, description: "The unit's number." },
    iscsiInterface: { number: 4, schema: string, default: "default", description: "The interface that is used." },
    fsType: { number: 5, schema: string, description: "The type of its file system." },
    readOnly: { number: 6, schema: boolean, description: "Whether it can only be read." },
    portals: { number: 7, schema: atomicList(string), description: "More portals." },
    chapAuthDiscovery: { number: 8, schema: boolean, description: "Whether discovery is authenticated by CHAP." },
    chapAuthSession: { number: 11, schema: boolean, description: "Whether sessions are authenticated by CHAP." },
    secretRef: {
      number: 10,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret with the credentials.",
    },
    initiatorName: { number: 12, schema: string, presence: "pointer", description: "The initiator's name." },
  },
});

export const fcVolumeSource = object({
  goType: "v1.FCVolumeSource",
  description: "A Fibre Channel disk.",
  fields: {
    targetWWNs: { number: 1, schema: atomicList(string), description: "The names of the target." },
    lun: { number: 2, schema: int32, presence: "pointer", description: "The unit's number." },
    fsType: { number: 3, schema: string, description: "The type of its file system." },
    readOnly: { number: 4, schema: boolean, description: "Whether it can only be read." },
    wwids: {
      number: 5,
      schema: atomicList(string),
      description: "World wide identifiers, in place of targetWWNs and lun.",
    },
  },
});

export const csiVolumeSource = object({
  goType: "v1.CSIVolumeSource",
  description: "A volume of a CSI driver, made for the Pod.",
  fields: {
    driver: { number: 1, schema: string, presence: "always", isRequired: true, description: "The driver's name." },
    readOnly: { number: 2, schema: boolean, presence: "pointer", description: "Whether it can only be read." },
    fsType: { number: 3, schema: string, presence: "pointer", description: "The type of its file system." },
    volumeAttributes: { number: 4, schema: mapOf(string), description: "Settings that the driver knows." },
    nodePublishSecretRef: {
      number: 5,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: localObjectReference,
      presence: "pointer",
      description: "The Secret that the driver gets.",
    },
  },
});
