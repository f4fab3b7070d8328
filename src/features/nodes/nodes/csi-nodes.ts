import {
  duplicate,
  invalidValue,
  invalidValues,
  required as missing,
  tooLong,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import {
  dnsSubdomainFaults,
  maximumLabelLength,
  validateDnsSubdomainName,
} from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import type { KindFault } from "../../../machinery/registry/definition/kind-faults.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition, UpdateContext } from "../../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, int32, mapList, named, string, time } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { csiNodeResource } from "../resources.ts";

const volumeNodeResources = struct("v1.VolumeNodeResources", "How many volumes a machine can have.", {
  count: pointer(1, int32, "The most volumes of the driver at once; none: any number."),
});

const csiNodeDriver = struct("v1.CSINodeDriver", "A storage driver on a machine.", {
  name: required(1, string, "The driver's name."),
  nodeID: required(2, string, "What the driver calls the machine."),
  topologyKeys: always(3, atomicList(string), "The labels of its Node that say where it reaches storage."),
  allocatable: pointer(4, volumeNodeResources, "How many volumes the machine can have."),
});

const storageHealthCondition = struct("v1.StorageHealthCondition", "What is wrong with a storage.", {
  status: required(1, named(string, "v1.StorageHealthStatusType"), "StorageUnreachable or StorageDegraded."),
  reason: required(2, string, "Why, as one CamelCase word, for programs."),
  message: omitEmpty(3, string, "Why, as a sentence, for people."),
  accessMode: pointer(4, named(string, "v1.PersistentVolumeAccessMode"), "The access that is affected; none: all."),
  volumeMode: pointer(5, named(string, "v1.PersistentVolumeMode"), "The volumes that are affected; none: all."),
  lastTransitionTime: always(6, time, "Since when."),
});

const storageHealth = struct("v1.StorageHealth", "What a driver says of its storage.", {
  name: required(1, string, "The driver's name."),
  healthConditions: omitEmpty(2, atomicList(storageHealthCondition), "What is wrong."),
});

const csiNodeSchema = struct(
  "v1.CSINode",
  "The storage drivers of the machine of the same name. A kubelet writes it, and is not ready without.",
  {
    ...objectFields,
    spec: required(
      2,
      struct("v1.CSINodeSpec", "The storage drivers of a machine.", {
        drivers: required(1, mapList(csiNodeDriver, "name"), "The drivers."),
      }),
      "The drivers.",
    ),
    status: always(
      3,
      struct("v1.CSINodeStatus", "The storage of a machine.", {
        storageHealth: omitEmpty(
          1,
          mapList(storageHealth, "name"),
          "What the drivers say of their storage. Kept by no write.",
        ),
      }),
      "What the machine says of its storage.",
    ),
  },
);

export type CSINode = Infer<typeof csiNodeSchema>;
type CSINodeDriver = Infer<typeof csiNodeDriver>;

/** CSINodes. Nothing writes their status, which belongs to a feature (CSIVolumeHealth) that is off by default in upstream. */
export const csiNodes = (names: Names): ResourceDefinition<CSINode> =>
  defineResource({
    ...csiNodeResource(names),
    schema: csiNodeSchema,
    validateName: validateDnsSubdomainName,
    prepareForCreate: (created) => ({ ...withNullForNone(created), status: {} }),
    prepareForUpdate: (next, { previous }) => ({ ...withNullForNone(next), status: previous.status }),
    validate,
    validateUpdate,
    allowsUnconditionalUpdate: false,
    answersDeletedObject: true,
    resetFields: [["status"]],
    columns: [
      nameColumn(names),
      {
        name: "Drivers",
        type: "integer",
        description: "Drivers indicates the number of CSI drivers registered on the node",
        cell: ({ spec }) => spec.drivers?.length ?? 0,
      },
      ageColumn(names),
    ],
  });

/** Empty lists are stored as null, as in upstream. */
function withNullForNone(csiNode: CSINode): CSINode {
  const drivers = csiNode.spec.drivers?.map((driver) =>
    driver.topologyKeys?.length === 0 ? { ...driver, topologyKeys: null } : driver,
  );
  return { ...csiNode, spec: { drivers: drivers === undefined || drivers.length === 0 ? null : drivers } };
}

const maximumNodeIdBytes = 256;

function validate({ spec }: CSINode): FieldError[] {
  const names = new Set<string>();
  return (spec.drivers ?? []).flatMap((driver, index) => {
    const field = `spec.drivers[${index}]`;
    const { name, nodeID, allocatable: { count = 0 } = {} } = driver;
    const isRepeated = names.has(name);
    names.add(name);
    return [
      ...driverNameFaults(name, `${field}.name`),
      ...(nodeID === "" ? [missing(`${field}.nodeID`, "")] : []),
      ...(Buffer.byteLength(nodeID) > maximumNodeIdBytes
        ? [
            invalidValue(`${field}.nodeID`, {
              value: nodeID,
              detail: `must be ${maximumNodeIdBytes} characters or less`,
            }),
          ]
        : []),
      ...(count < 0
        ? [
            invalidValue(`${field}.allocatable.count`, {
              value: count,
              detail: "must be greater than or equal to 0",
            }),
          ]
        : []),
      ...(isRepeated ? [duplicate(`${field}.name`, name)] : []),
      ...topologyFaults(driver.topologyKeys ?? [], field),
    ];
  });
}

/** Returns the faults of a driver's name (upstream: `ValidateCSIDriverName`). */
function driverNameFaults(name: string, field: string): FieldError[] {
  if (name === "") return [missing(field, "")];
  return [
    ...(Buffer.byteLength(name) > maximumLabelLength ? [tooLong(field, maximumLabelLength)] : []),
    ...invalidValues(field, { value: name, details: dnsSubdomainFaults(name.toLowerCase()) }),
  ];
}

function topologyFaults(keys: readonly string[], field: string): FieldError[] {
  const seen = new Set<string>();
  return keys.flatMap((key) => {
    const isRepeated = seen.has(key);
    seen.add(key);
    return [
      ...(key === "" ? [missing(field, "")] : []),
      ...(isRepeated ? [duplicate(field, key)] : []),
      ...invalidValues(field, { value: key, details: qualifiedNameFaults(key) }),
    ];
  });
}

/** Returns the faults of an update: of a driver that stays, only the number of volumes may change. */
function validateUpdate(next: CSINode, { previous }: UpdateContext<CSINode>): KindFault[] {
  const before = new Map((previous.spec.drivers ?? []).map((driver) => [driver.name, driver]));
  const isChanged = (driver: CSINodeDriver): boolean => {
    const earlier = before.get(driver.name) ?? driver;
    return !isSemanticallyEqual(withoutCount(driver), withoutCount(earlier));
  };
  return [
    "metadata",
    ...validate(next),
    ...(next.spec.drivers ?? [])
      .filter(isChanged)
      .map((driver) => invalidValue("spec.drivers", { value: goStructOf(driver), detail: "field is immutable" })),
  ];
}

const withoutCount = ({ name, nodeID, topologyKeys }: CSINodeDriver): CSINodeDriver => ({ name, nodeID, topologyKeys });

/** A driver as upstream's messages show it, without its count, which may change. */
const goStructOf = ({ name, nodeID, topologyKeys }: CSINodeDriver): object => ({
  Name: name,
  NodeID: nodeID,
  TopologyKeys: topologyKeys ?? null,
  Allocatable: null,
});
