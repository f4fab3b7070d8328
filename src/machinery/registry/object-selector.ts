import { badRequest } from "../api/api-error.ts";
import { matchesFields, parseFieldSelector, requiredFieldValue } from "../api/field-selector.ts";
import type { FieldSelector } from "../api/field-selector.ts";
import { matchesLabels, parseLabelSelector } from "../api/label-selector.ts";
import type { LabelSelector } from "../api/label-selector.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { collectionRange, singleKeyRange, storageKey } from "./storage-key.ts";
import type { StoredObject } from "./stored-object.ts";
import type { KeyRange } from "../storage/watch-cache.ts";

/** Selects the objects for a list, a watch or a deletion of a collection. */
export interface ObjectSelector<T extends ApiObject> {
  /** True when every object in the range matches. */
  readonly isEmpty: boolean;
  /** Only keys in this range can match. */
  readonly range: KeyRange;
  matches(stored: StoredObject<T>): boolean;
}

export interface SelectorRequest {
  readonly namespace: string;
  /** Set by the old `/watch/` paths: selects only this object. */
  readonly name: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/**
 * Parses the selectors of a request. Throws a 400 for invalid syntax, and for fields that the kind cannot select by.
 */
export function objectSelector<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { namespace, name, labelSelector, fieldSelector }: SelectorRequest,
): ObjectSelector<T> {
  const labels = labelSelector === "" ? [] : parseLabelSelector(labelSelector);
  const fields = fieldSelector === "" ? [] : parseFieldSelector(fieldSelector);
  for (const { field } of fields) checkField(definition, field);
  if (name !== "" && fields.length > 0 && requiredFieldValue(fields, "metadata.name") !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const range = rangeOf(definition, { namespace, name, fields });
  const isEmpty = labels.length === 0 && fields.length === 0;
  return { isEmpty, range, matches: isEmpty ? () => true : matcher(definition, { labels, fields }) };
}

function checkField<T extends ApiObject>(definition: ResourceDefinition<T>, field: string): void {
  if (field === "metadata.name") return;
  if (field === "metadata.namespace" && definition.scope === "Namespaced") return;
  if (Object.hasOwn(definition.selectableFields ?? {}, field)) return;
  throw badRequest(definition.unsupportedFieldLabel?.(field) ?? `field label not supported: ${field}`);
}

/** The narrowest range that the path and the fields allow. */
function rangeOf<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { namespace, name, fields }: { readonly namespace: string; readonly name: string; readonly fields: FieldSelector },
): KeyRange {
  const onlyNamespace = namespace === "" ? (requiredFieldValue(fields, "metadata.namespace") ?? "") : namespace;
  const onlyName = name === "" ? (requiredFieldValue(fields, "metadata.name") ?? "") : name;
  const key = storageKey(definition, { namespace: onlyNamespace, name: onlyName });
  return key === undefined ? collectionRange(definition, onlyNamespace) : singleKeyRange(key);
}

function matcher<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  { labels, fields }: { readonly labels: LabelSelector; readonly fields: FieldSelector },
): (stored: StoredObject<T>) => boolean {
  const selectable = definition.selectableFields ?? {};
  const compared = (field: string, value: string): string => definition.comparedAs?.(field, value) ?? value;
  const terms = fields.map((term) => ({ ...term, value: compared(term.field, term.value) }));
  return (stored) =>
    (labels.length === 0 || matchesLabels(labels, stored.labels)) &&
    matchesFields(terms, (field) => {
      const { object } = stored;
      if (field === "metadata.name") return object.metadata.name ?? "";
      if (field === "metadata.namespace") return object.metadata.namespace ?? "";
      return compared(field, selectable[field]?.(object) ?? "");
    });
}
