import type { ObjectSchema } from "../../schema/schema.ts";
import { runToEnd } from "../../api/run-to-end.ts";
import { isJsonObject, memberOf, parseJsonObject } from "../../api/json/json-object.ts";
import { maximumAnnotationBytes } from "../../api/validation/label-validation.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { compareFields } from "./compare-fields.ts";
import { difference, emptySet } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { configurationFaults } from "./configuration-faults.ts";

/** The manager name of kubectl. Only for this manager, the annotation of client-side apply is read and updated. */
export const lastAppliedManager = "kubectl";
const annotation = "kubectl.kubernetes.io/last-applied-configuration";

function annotationsOf(object: unknown): JsonObject {
  const metadata = isJsonObject(object) ? memberOf(object, "metadata") : undefined;
  const annotations = isJsonObject(metadata) ? memberOf(metadata, "annotations") : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/**
 * The fields that kubectl's client-side apply set and that still have the same value. A server-side apply by kubectl
 * may take them over without a conflict (upstream: lastAppliedManager).
 */
export function lastAppliedFields(schema: ObjectSchema, live: Readonly<JsonObject>): FieldSet {
  const text = annotationsOf(live)[annotation];
  const lastApplied = typeof text === "string" ? parseJsonObject(text) : undefined;
  if (lastApplied === undefined || memberOf(lastApplied, "apiVersion") !== live["apiVersion"]) return emptySet;
  if (runToEnd(configurationFaults(schema, lastApplied)).length > 0) return emptySet;
  const { added, modified, removed } = compareFields({ schema, before: lastApplied, after: live });
  return [modified, added, removed].reduce(difference, fieldsOf(schema, lastApplied));
}

/** If the object has the annotation: sets it to the configuration, or removes it when it would be too long. */
export function withLastApplied(object: JsonObject, configuration: Readonly<JsonObject>): JsonObject {
  const annotations = annotationsOf(object);
  if (typeof annotations[annotation] !== "string" || annotations[annotation] === "") return object;
  const { [annotation]: _, ...others } = annotations;
  const next = { ...others, [annotation]: encode(configuration) };
  const bytes = Object.entries(next).reduce((sum, entry) => sum + Buffer.byteLength(entry.join("")), 0);
  const metadata = memberOf(object, "metadata") as JsonObject; // present, because it contains annotations
  return {
    ...object,
    metadata: { ...metadata, annotations: bytes > maximumAnnotationBytes ? others : next },
  };
}

function encode(configuration: Readonly<JsonObject>): string {
  const { [annotation]: own, ...annotations } = annotationsOf(configuration);
  const metadata = memberOf(configuration, "metadata");
  const bare =
    own === undefined || !isJsonObject(metadata)
      ? configuration
      : { ...configuration, metadata: { ...metadata, annotations } };
  return `${JSON.stringify(inKeyOrder(bare))}\n`;
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inKeyOrder(value[key])]),
  );
}
