import { foregroundFinalizer, orphanFinalizer } from "../deletion-finalizers.ts";
import { goQuoted, NamedText } from "../text/format-value.ts";
import { forbiddenField, invalidValue, invalidValues, required, tooLong } from "./field-error.ts";
import type { FieldError } from "./field-error.ts";
import { qualifiedNameFaults, validateAnnotations, validateLabels } from "./label-validation.ts";
import { dnsLabelFaults, validatePathSegmentName } from "./name-validation.ts";
import type { ValidateName } from "./name-validation.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../object-meta.ts";
import { parseApiVersion } from "../resource-type.ts";

/** A kind's rules for its metadata. */
interface ObjectMetaRules {
  readonly isNamespaced: boolean;
  readonly validateName: ValidateName;
  /** Whether a finalizer without a domain may have any name. Default false. */
  readonly allowsShortFinalizers?: boolean | undefined;
}

const standardFinalizers = new Set(["kubernetes", orphanFinalizer, foregroundFinalizer]);

/** Bytes, as in upstream. */
export const maximumManagerLength = 128;
const maximumSubresourceLength = 256;
/** An answer shows no more than this. */
const maximumShownReferences = 100;

interface ObjectMetaFaults {
  /** The faults that a kind's own validation finds (upstream: `ValidateObjectMeta`). */
  readonly whole: readonly FieldError[];
  /**
   * The faults that upstream's create finds in every kind, after all other validation passed: some kinds allow any name, or do not validate
   * their metadata. So these faults never appear next to those of the kind.
   */
  general(): readonly FieldError[];
}

/** Returns the faults of a new object's metadata, after its name was generated and its namespace set. Validates each list only once. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules): ObjectMetaFaults {
  const unnamed = validateUnnamed(meta, { isNamespaced: rules.isNamespaced, lists: validateLists(meta) });
  return {
    whole: validateNames(meta, rules.validateName).concat(unnamed, validateQualifiedFinalizers(meta, rules)),
    general: () => validateNames(meta, validatePathSegmentName).concat(unnamed),
  };
}

function validateNames({ generateName = "", name = "" }: ObjectMeta, validateName: ValidateName): FieldError[] {
  const faults: FieldError[] = [];
  if (generateName !== "") {
    for (const fault of validateName(generateName, { isPrefix: true })) {
      faults.push(invalidValue("metadata.generateName", { value: generateName, detail: fault }));
    }
  }
  if (name === "") faults.push(required("metadata.name", "name or generateName is required"));
  else
    for (const fault of validateName(name, { isPrefix: false }))
      faults.push(invalidValue("metadata.name", { value: name, detail: fault }));
  return faults;
}

/** The faults of each list and map in the metadata. The rules are the same for every kind. */
interface ListFaults {
  readonly labels: readonly FieldError[];
  readonly annotations: readonly FieldError[];
  readonly ownerReferences: readonly FieldError[];
  readonly finalizers: readonly FieldError[];
  readonly managedFields: readonly FieldError[];
}

const none: readonly FieldError[] = [];

function validateLists({ labels, annotations, ownerReferences, finalizers, managedFields }: ObjectMeta): ListFaults {
  return {
    labels: labels === undefined ? none : validateLabels(labels, "metadata.labels"),
    annotations: annotations === undefined ? none : validateAnnotations(annotations),
    ownerReferences: ownerReferences === undefined ? none : validateOwnerReferences(ownerReferences),
    finalizers: finalizers === undefined ? none : validateFinalizers(finalizers),
    managedFields: managedFields === undefined ? none : validateManagedFields(managedFields),
  };
}

interface GeneralRules extends Pick<ObjectMetaRules, "isNamespaced"> {
  readonly lists: ListFaults;
}

/** Upstream's rules for every kind, without those for its name. */
function validateUnnamed({ namespace = "", generation = 0 }: ObjectMeta, rules: GeneralRules): readonly FieldError[] {
  const { labels, annotations, ownerReferences, finalizers, managedFields } = rules.lists;
  const ofGeneration =
    generation < 0
      ? [invalidValue("metadata.generation", { value: generation, detail: "must be greater than or equal to 0" })]
      : none;
  return validateNamespace(namespace, rules).concat(
    ofGeneration,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields,
  );
}

interface ObjectMetaUpdate extends ObjectMetaRules {
  readonly previous: ObjectMeta;
}

interface ObjectMetaUpdateFaults {
  /** What upstream's machinery finds in every kind. */
  readonly general: readonly FieldError[];
  /** What a kind's own validation finds in the change (upstream: `ValidateObjectMetaUpdate`), and in the whole (`ValidateObjectMeta`). */
  readonly change: readonly FieldError[];
  readonly whole: readonly FieldError[];
}

/**
 * Returns every fault of a changed object's metadata. Upstream validates the metadata in its machinery and again in
 * the kinds, so it reports one fault as two to four causes. Clients that count causes see the same number here, but each
 * part is looked at only once.
 */
export function validateObjectMetaUpdate(
  next: ObjectMeta,
  { previous, ...rules }: ObjectMetaUpdate,
): ObjectMetaUpdateFaults {
  const lists = validateLists(next);
  const { labels, annotations, ownerReferences, managedFields } = lists;
  const changes = validateChanges(next, previous).concat(labels, annotations, ownerReferences, managedFields);
  const unnamed = validateUnnamed(next, { isNamespaced: rules.isNamespaced, lists });
  const finalizers = validateQualifiedFinalizers(next, rules);
  return {
    general: validateNames(next, validatePathSegmentName).concat(unnamed, changes),
    change: changes.concat(finalizers),
    whole: validateNames(next, rules.validateName).concat(unnamed, finalizers),
  };
}

/** Refuses changes that an update must not make (upstream: `ValidateObjectMetaUpdate`). */
function validateChanges(next: ObjectMeta, previous: ObjectMeta): FieldError[] {
  const faults: FieldError[] = [];
  if (previous.deletionTimestamp !== undefined) {
    faults.push(...validateNoNewFinalizers(next.finalizers ?? [], previous.finalizers ?? []));
  }
  if ((next.resourceVersion ?? "") === "") {
    faults.push(invalidValue("metadata.resourceVersion", { value: "", detail: "must be specified for an update" }));
  }
  if ((next.generation ?? 0) < (previous.generation ?? 0)) {
    faults.push(
      invalidValue("metadata.generation", { value: next.generation ?? 0, detail: "must not be decremented" }),
    );
  }
  for (const field of ["name", "namespace", "uid"] as const) {
    const value = next[field] ?? "";
    if (value !== (previous[field] ?? ""))
      faults.push(immutable(field, field === "uid" ? new NamedText(value) : value));
  }
  for (const field of ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    if (next[field] !== previous[field]) faults.push(immutable(field, next[field]));
  }
  return faults;
}

const immutable = (field: string, value: unknown): FieldError =>
  invalidValue(`metadata.${field}`, { value, detail: "field is immutable" });

function validateNamespace(
  namespace: string,
  { isNamespaced }: Pick<ObjectMetaRules, "isNamespaced">,
): readonly FieldError[] {
  const field = "metadata.namespace";
  if (!isNamespaced) return namespace === "" ? none : [forbiddenField(field, "not allowed on this type")];
  if (namespace === "") return [required(field, "")];
  return invalidValues(field, { value: namespace, details: dnsLabelFaults(namespace) });
}

function validateOwnerReferences(references: readonly OwnerReference[]): FieldError[] {
  const field = "metadata.ownerReferences";
  const faults: FieldError[] = [];
  let firstController: string | undefined;
  for (const reference of references) {
    faults.push(...validateOwnerReference(reference));
    if (reference.controller !== true) continue;
    const controller = `${reference.kind}/${reference.name}`;
    if (firstController === undefined) firstController = controller;
    else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${firstController} and ${controller}`;
      faults.push(
        invalidValue(field, { value: references.slice(0, maximumShownReferences).map(inFieldOrder), detail }),
      );
    }
  }
  return faults;
}

function validateOwnerReference(reference: OwnerReference): FieldError[] {
  const field = "metadata.ownerReferences";
  const { apiVersion, kind, name, uid } = reference;
  const faults: FieldError[] = [];
  // "a/b/c" and "group/" have no version.
  if ((parseApiVersion(apiVersion)?.version ?? "") === "")
    faults.push(invalidValue(`${field}.apiVersion`, { value: apiVersion, detail: "version must not be empty" }));
  for (const [part, value] of Object.entries({ kind, name, uid })) {
    if (value === "") faults.push(invalidValue(`${field}.${part}`, { value, detail: "must not be empty" }));
  }
  // An empty group is the same as none.
  if ((apiVersion === "v1" || apiVersion === "/v1") && kind === "Event") {
    faults.push(
      invalidValue(field, {
        value: inFieldOrder(reference),
        detail: "/v1, Kind=Event is disallowed from being an owner",
      }),
    );
  }
  return faults;
}

const inFieldOrder = ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion,
}: OwnerReference): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  ...(controller !== undefined && { controller }),
  ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
});

function validateFinalizers(finalizers: readonly string[]): FieldError[] {
  const field = "metadata.finalizers";
  const faults = finalizers.flatMap((finalizer) =>
    invalidValues(field, { value: finalizer, details: qualifiedNameFaults(finalizer) }),
  );
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`;
    faults.push(invalidValue(field, { value: finalizers, detail }));
  }
  return faults;
}

/** A finalizer without a domain must be one that Kubernetes defines (upstream: `validateKubeFinalizerName`). */
export const validateQualifiedFinalizer = (finalizer: string, field: string): FieldError[] =>
  finalizer.includes("/") || standardFinalizers.has(finalizer)
    ? []
    : [
        invalidValue(field, {
          value: finalizer,
          detail: "name is neither a standard finalizer name nor is it fully qualified",
        }),
      ];

const validateQualifiedFinalizers = (
  { finalizers }: ObjectMeta,
  { allowsShortFinalizers = false }: Pick<ObjectMetaRules, "allowsShortFinalizers">,
): readonly FieldError[] =>
  allowsShortFinalizers || finalizers === undefined
    ? none
    : finalizers.flatMap((finalizer, index) => validateQualifiedFinalizer(finalizer, `metadata.finalizers[${index}]`));

function validateNoNewFinalizers(next: readonly string[], previous: readonly string[]): FieldError[] {
  const kept = new Set(previous);
  const added = [...new Set(next)].filter((finalizer) => !kept.has(finalizer)).sort();
  if (added.length === 0) return [];
  const shown = `[]string{${added.map(goQuoted).join(", ")}}`;
  return [
    forbiddenField(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`,
    ),
  ];
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[]): FieldError[] {
  const faults: FieldError[] = [];
  for (const [index, { operation = "", fieldsType = "", manager = "", subresource = "" }] of entries.entries()) {
    const field = `metadata.managedFields[${index}]`;
    if (operation !== "Apply" && operation !== "Update") {
      faults.push(
        invalidValue(`${field}.operation`, { value: new NamedText(operation), detail: "must be `Apply` or `Update`" }),
      );
    }
    if (fieldsType !== "" && fieldsType !== "FieldsV1") {
      faults.push(invalidValue(`${field}.fieldsType`, { value: fieldsType, detail: "must be `FieldsV1`" }));
    }
    faults.push(...validateFieldManager(manager, `${field}.manager`));
    if (Buffer.byteLength(subresource) > maximumSubresourceLength) {
      faults.push(tooLong(`${field}.subresource`, maximumSubresourceLength));
    }
  }
  return faults;
}

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** A manager's name: at most 128 bytes, printable (upstream: `ValidateFieldManager`). */
export function validateFieldManager(manager: string, field: string): FieldError[] {
  const faults: FieldError[] = [];
  if (Buffer.byteLength(manager) > maximumManagerLength) faults.push(tooLong(field, maximumManagerLength));
  if (printable.test(manager)) return faults;
  let position = 0;
  for (const character of manager) {
    if (!printable.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      faults.push(
        invalidValue(field, { value: manager, detail: `invalid character U+${code} (at position ${position})` }),
      );
    }
    position += Buffer.byteLength(character);
  }
  return faults;
}
