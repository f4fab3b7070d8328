import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { contentFinalizer } from "./content-finalizer.ts";
import { namespaceResource } from "../resources.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import { NamedText } from "../../../machinery/api/text/format-value.ts";
import { invalidValue, invalidValues } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import { validateDnsLabelName } from "../../../machinery/api/validation/name-validation.ts";
import { validateQualifiedFinalizer } from "../../../machinery/api/validation/object-meta-validation.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { readableObjects } from "../../../machinery/registry/reads/readable-objects.ts";
import { conditionFields, objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { struct, always, omitEmpty } from "../../../machinery/schema/struct.ts";
import { atomicList, mapList, named, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";

const namespaceCondition = struct(
  "v1.NamespaceCondition",
  "A condition of a namespace, set by a controller.",
  conditionFields("v1.NamespaceConditionType"),
);

const namespaceSchema = struct(
  "v1.Namespace",
  "A scope for names: the objects of different namespaces may have the same name.",
  {
    ...objectFields,
    spec: always(
      2,
      object({
        goType: "v1.NamespaceSpec",
        description: "The desired state of a namespace.",
        fields: {
          finalizers: omitEmpty(
            1,
            atomicList(named(string, "v1.FinalizerName")),
            "Finalizers that must be removed before the namespace is. Changed only through `finalize`.",
          ),
        },
      }),
      "The desired state of the namespace.",
    ),
    status: always(
      3,
      object({
        goType: "v1.NamespaceStatus",
        description: "The state of a namespace.",
        fields: {
          phase: omitEmpty(
            1,
            named(string, "v1.NamespacePhase"),
            "Active, or Terminating while its objects are deleted.",
            { default: "Active" },
          ),
          conditions: omitEmpty(2, mapList(namespaceCondition, "type"), "Why a deletion is not finished."),
        },
      }),
      "The state of the namespace. Set by the server.",
    ),
  },
);

export type Namespace = Infer<typeof namespaceSchema>;

export function namespaces(names: Names): ResourceDefinition<Namespace> {
  // Both spellings of the label, because selectors use either.
  const nameLabels = spellingsOf(names, (one) => one.key("metadata.name"));
  const withNameLabel = (namespace: Namespace): Namespace => {
    const { name = "", labels } = namespace.metadata;
    if (name === "" || nameLabels.every((label) => labels?.[label] === name)) return namespace;
    const own = Object.fromEntries(nameLabels.map((label) => [label, name]));
    return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, ...own } } };
  };
  return defineResource({
    ...namespaceResource(names),
    shortNames: ["ns"],
    verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
    schema: namespaceSchema,
    failedPreconditionNames: "resource",
    answersDeletedObject: true,
    validateName: validateDnsLabelName,
    setDefaults: withNameLabel,
    // A name from generateName was not known when defaults were set.
    canonicalize: withNameLabel,
    prepareForCreate: (namespace) => ({
      ...namespace,
      spec: { finalizers: withContentFinalizer(namespace.spec.finalizers ?? []) },
      status: { phase: "Active" },
    }),
    prepareForUpdate: (next, { previous }) => ({ ...next, spec: previous.spec, status: previous.status }),
    validate: validateFinalizers,
    validateUpdate: () => ["metadata", "metadata change"],
    prepareForDelete: (namespace, { now }) => {
      if (namespace.metadata.deletionTimestamp === undefined) return terminating(namespace, now);
      return isBeingEmptied(namespace) ? namespace : undefined;
    },
    policyWithoutOrphans: "Foreground",
    propagationOf: (namespace) => (isBeingEmptied(namespace) ? "ignored" : "followed"),
    subresources: {
      finalize: {
        type: "update",
        verbs: ["update"],
        allowsTable: false,
        prepareForUpdate: (next, { previous }) => ({ ...next, status: previous.status }),
        validateUpdate: (next) => ["metadata change", ...validateFinalizersInPlace(next)],
        resetFields: [["status"]],
      },
      status: {
        type: "update",
        prepareForUpdate: (next, { previous }) => ({ ...next, spec: previous.spec }),
        validateUpdate: (next) => ["metadata change", ...validatePhase(next)],
        resetFields: [["spec"]],
      },
    },
    selectableFields: { "status.phase": ({ status }) => status.phase ?? "" },
    resetFields: [["status"]],
    columns: [
      nameColumn(names),
      {
        name: "Status",
        description: "The status of the namespace",
        cell: ({ status }) => status.phase ?? "",
      },
      ageColumn(names),
    ],
  });
}

const withContentFinalizer = (finalizers: string[]): string[] =>
  finalizers.includes(contentFinalizer) ? finalizers : [...finalizers, contentFinalizer];

/** Whether a deletion waits until the namespace is empty. A further deletion then changes nothing (upstream: `REST.Delete`). */
const isBeingEmptied = ({ metadata, spec }: Namespace): boolean =>
  metadata.deletionTimestamp !== undefined && (spec.finalizers ?? []).length > 0;

const terminating = (namespace: Namespace, now: number): Namespace => ({
  ...namespace,
  metadata: { ...namespace.metadata, deletionTimestamp: timestamp(now) },
  status: { ...namespace.status, phase: "Terminating" },
});

const validateFinalizers = ({ spec }: Namespace): FieldError[] =>
  (spec.finalizers ?? []).flatMap((finalizer) => validateFinalizer(finalizer, "spec.finalizers"));

/** The faults of finalizers in a request to `finalize`. As in upstream, each fault names the wrong finalizer. */
const validateFinalizersInPlace = ({ spec }: Namespace): FieldError[] =>
  (spec.finalizers ?? []).flatMap((finalizer, index) => validateFinalizer(finalizer, `spec.finalizers[${index}]`));

const validateFinalizer = (finalizer: string, field: string): FieldError[] => [
  ...invalidValues(field, { value: finalizer, details: qualifiedNameFaults(finalizer) }),
  ...validateQualifiedFinalizer(finalizer, field),
];

function validatePhase({ metadata, status }: Namespace): FieldError[] {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const phase = isDeleted ? "Terminating" : "Active";
  if (status.phase === phase) return [];
  const detail = `may only be '${phase}' if \`deletionTimestamp\` is ${isDeleted ? "not " : ""}empty`;
  return [invalidValue("status.Phase", { value: new NamedText(status.phase ?? ""), detail })];
}

/**
 * Creates the namespaces that every server has: default, and the system's own. Adds missing labels to namespaces of earlier versions, which
 * had only one spelling of each label.
 */
export async function createReservedNamespaces({
  names,
  stores,
  client,
}: {
  readonly names: Names;
  readonly stores: Stores;
  readonly client: ApiClient;
}): Promise<readonly string[]> {
  const namespaces = client.resource(namespaceResource(names));
  const { system, public: everyone, nodeLease } = names.namespaces;
  const missing = ["default", system, everyone, nodeLease].filter(
    (name) => stores.of(namespaceResource).peek({ namespace: "", name }) === undefined,
  );
  await Promise.all(missing.map((name) => namespaces.create({ metadata: { name }, spec: {} })));
  if (names.other === undefined) return missing;
  const label = names.other.key("metadata.name");
  // A namespace that can't be read does not prevent the start of the server.
  for (const { object } of readableObjects(stores.of(namespaceResource))) {
    // Every write adds missing labels.
    if (object.metadata.labels?.[label] === undefined) await namespaces.update(object);
  }
  return missing;
}
