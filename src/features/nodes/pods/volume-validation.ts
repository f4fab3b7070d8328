import { duplicate, forbiddenField, invalidValues, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { dnsLabelFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { Volume } from "./schema/pod-schema.ts";

/** The sources of a volume, in the order in which upstream validates them. */
const sources = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
] as const satisfies readonly (keyof Volume)[];

/** The names that upstream's messages have for sources. */
const shownNames: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

/** The faults of the names of a new Pod's volumes, and of volumes with several sources (upstream: `ValidateVolumes`). */
export function validateVolumes(volumes: readonly Volume[] = []): FieldError[] {
  const known = new Set<string>();
  return volumes.flatMap((volume, index) => {
    const field = `spec.volumes[${index}]`;
    const { name } = volume;
    const given = sources.filter((source) => volume[source] !== undefined);
    const faults = [
      ...given
        .slice(1)
        .map((source) =>
          forbiddenField(`${field}.${shownNames[source] ?? source}`, "may not specify more than 1 volume type"),
        ),
      ...(name === ""
        ? [required(`${field}.name`, "")]
        : invalidValues(`${field}.name`, { value: name, details: dnsLabelFaults(name) })),
      ...(known.has(name) ? [duplicate(`${field}.name`, name)] : []),
    ];
    if (faults.length === 0) known.add(name);
    return faults;
  });
}
