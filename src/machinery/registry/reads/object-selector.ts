import { badRequest } from "../../api/api-error.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import { goQuoted } from "../../api/text/format-value.ts";
import { fieldMatcher, requiredFieldValue } from "../../api/selectors/field-selector.ts";
import type { FieldSelector } from "../../api/selectors/field-selector.ts";
import { labelMatcher } from "../../api/selectors/label-selector.ts";
import type { LabelRequirement, LabelSelector } from "../../api/selectors/label-selector.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { shortTextLength } from "../../scheduling/request-turn.ts";
import type { ResourceDefinition } from "../definition/resource-definition.ts";
import { collectionRange, storageKey } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import type { Lookup } from "../../storage/watch-cache/value-index.ts";
import { keyAfter, singleKeyRange } from "../../storage/key-range.ts";
import type { KeyRange } from "../../storage/key-range.ts";

/** Selects the objects for a list, a watch or a deletion of a collection. */
export interface ObjectSelector<T extends ApiObject> {
  /** True when every object in the range matches. */
  readonly isEmpty: boolean;
  /** Only keys in this range can match. */
  readonly range: KeyRange;
  /** Whether the range can contain only one object, because its namespace and its name are given. */
  readonly isOneKey: boolean;
  /** A value of a field or a label that every matching object has. */
  readonly lookup: Lookup<StoredObject<T>> | undefined;
  /** Selectors with the same text match the same objects of their ranges. */
  readonly text: string;
  matches(stored: StoredObject<T>): boolean;
}

export interface SelectorRequest {
  readonly namespace: string;
  /** Set by the old `/watch/` paths: selects only this object. */
  readonly name: string;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
}

/** Makes the selector of a request. Throws a 400 for fields that the kind does not support. */
export function objectSelector<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { namespace, name, labels, fields }: SelectorRequest,
): ObjectSelector<T> {
  for (const { field } of fields) checkField(definition, field);
  if (name !== "" && fields.length > 0 && requiredFieldValue(fields, "metadata.name") !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const range = rangeOf(definition, { namespace, name, fields });
  const isEmpty = labels.length === 0 && fields.length === 0;
  const isOneKey = range.end === keyAfter(range.start);
  const lookup = isOneKey ? undefined : (requiredValue(definition, fields) ?? requiredLabel(labels));
  const text = JSON.stringify([apiVersionOf(definition), labels, fields]);
  const matches = isEmpty ? () => true : matcher(definition, { labels, fields });
  return { isEmpty, range, isOneKey, lookup, text, matches };
}

/**
 * A value that every selected object must have. Not the namespace, which the range contains already; nor the name, except when the selector
 * looks for it in every namespace.
 */
function requiredValue<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  fields: FieldSelector,
): Lookup<StoredObject<T>> | undefined {
  const term = fields.find(({ field, operator }) => operator === "=" && field !== "metadata.namespace");
  if (term === undefined) return undefined;
  const { field, value } = comparedTerm(definition, term);
  // The versions of a resource share the watches of its objects, but a field name may mean different fields in them.
  const selectableValue = selectableValues(definition);
  const unique = `${apiVersionOf(definition)} ${field}`;
  return { field: unique, value, valueOf: (stored) => selectableValue(stored, field) };
}

function requiredLabel<T extends ApiObject>(labels: LabelSelector): Lookup<StoredObject<T>> | undefined {
  for (const { key, operator, values } of labels) {
    const [value] = values;
    const isEquality = operator === "=" || operator === "==" || operator === "in";
    if (!isEquality || value === undefined || values.length !== 1) continue;
    return { field: `label ${key}`, value, valueOf: (stored) => labelOf(stored, key) };
  }
  return undefined;
}

function labelOf(stored: StoredObject, key: string): string | undefined {
  if (!mayHaveLabel(stored, [`${JSON.stringify(key)}:`])) return undefined;
  const labels = stored.labels ?? {};
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

const comparedTerm = <T extends ApiObject>(
  { comparedAs }: ResourceDefinition<T>,
  term: FieldSelector[number],
): FieldSelector[number] => ({ ...term, value: comparedAs?.(term.field, term.value) ?? term.value });

/** Makes a function that reads a selectable field, in the form in which selectors compare it; "" when the object has no such field. */
function selectableValues<T extends ApiObject>({
  scope,
  selectableFields,
  comparedAs,
}: ResourceDefinition<T>): (stored: StoredObject<T>, field: string) => string {
  return (stored, field) => {
    // The name and the namespace are in the key, so the object need not be parsed.
    if (field === "metadata.name") return stored.key.slice(stored.key.lastIndexOf("/") + 1);
    if (field === "metadata.namespace") return scope === "Namespaced" ? (stored.key.split("/").at(-2) ?? "") : "";
    const value = selectableFields?.[field]?.(stored.object) ?? "";
    return comparedAs?.(field, value) ?? value;
  };
}

/**
 * Throws for a field that the kind cannot select by. A kind without fields of its own has both metadata fields, in any scope (upstream:
 * `DefaultMetaV1FieldSelectorConversion`).
 */
function checkField<T extends ApiObject>({ selectableFields, scope }: ResourceDefinition<T>, field: string): void {
  if (field === "metadata.name") return;
  if (field === "metadata.namespace" && (scope === "Namespaced" || selectableFields === undefined)) return;
  if (Object.hasOwn(selectableFields ?? {}, field)) return;
  throw badRequest(
    selectableFields === undefined
      ? `${goQuoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );
}

/** The narrowest range that the path and the fields allow. */
function rangeOf<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { namespace, name, fields }: { readonly namespace: string; readonly name: string; readonly fields: FieldSelector },
): KeyRange {
  const isAnywhere = namespace === "" && definition.scope === "Namespaced";
  const onlyNamespace = isAnywhere ? (requiredFieldValue(fields, "metadata.namespace") ?? "") : namespace;
  const onlyName = name === "" ? (requiredFieldValue(fields, "metadata.name") ?? "") : name;
  const key = storageKey(definition, { namespace: onlyNamespace, name: onlyName });
  return key === undefined ? collectionRange(definition, onlyNamespace) : singleKeyRange(key);
}

function matcher<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { labels, fields }: { readonly labels: LabelSelector; readonly fields: FieldSelector },
): (stored: StoredObject<T>) => boolean {
  const matchesAllFields = fieldMatcher(fields.map((term) => comparedTerm(definition, term)));
  const matchesAllLabels = storedLabelMatcher(labels);
  const selectableValue = selectableValues(definition);
  return (stored) => matchesAllLabels(stored) && matchesAllFields((field) => selectableValue(stored, field));
}

/**
 * Whether an object may have labels with these texts: searches its text without parsing it. Always true for a long object, whose labels are
 * parsed once for all selectors instead.
 */
const mayHaveLabel = (stored: StoredObject, texts: readonly string[]): boolean =>
  stored.textLength > shortTextLength || stored.contains(texts);

/** The most texts to search for. Each search reads the whole object, and a selector may have thousands: then the labels are parsed. */
const mostTexts = 8;

function storedLabelMatcher(labels: LabelSelector): (stored: StoredObject) => boolean {
  const texts = labels.map(textsOf);
  if (texts.flat().length > mostTexts) {
    const matches = labelMatcher(labels);
    return (stored) => matches(stored.labels);
  }
  const requirements = labels.map((label, index) => ({ isMetBy: labelMatcher([label]), texts: texts[index] ?? [] }));
  // An object whose text does not contain a label's text does not have the label, so nearly all objects need no parsing.
  return (stored) =>
    requirements.every(({ isMetBy, texts }) => isMetBy(mayHaveLabel(stored, texts) ? stored.labels : {}));
}

/**
 * The texts of a requirement's labels in JSON. An object whose JSON contains none of them meets the requirement exactly if an object
 * without labels does.
 */
function textsOf({ key, operator, values }: LabelRequirement): string[] {
  const name = `${JSON.stringify(key)}:`;
  const comparesWhole = operator !== "exists" && operator !== "doesNotExist" && operator !== ">" && operator !== "<";
  return comparesWhole ? values.map((value) => name + JSON.stringify(value)) : [name];
}
