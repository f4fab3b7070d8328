import { kubernetesNames } from "../../../../src/machinery/api/names.ts";
import { metaPackage } from "../../../../src/machinery/schema/object-meta-schema.ts";
import type { ArraySchema, Field, ObjectSchema, Schema } from "../../../../src/machinery/schema/schema.ts";
import { storedResources } from "../../../../src/server/served-kinds.ts";
import { atomicStruct } from "./facts.ts";
import type { Facts } from "./facts.ts";

/**
 * The types of everything that Signet stores and that upstream has too, by the name of each kind's type. There are no
 * Services: their empty list needs no more than their metadata.
 */
export const rootTypes: ReadonlyMap<string, ObjectSchema> = new Map(
  storedResources(kubernetesNames)
    .filter(({ group, plural }) => group !== kubernetesNames.group("signet") && plural !== "services")
    .map(({ group, schema }) => [idOf(schema as ObjectSchema, folderOf(group)), schema as ObjectSchema]),
);

/** The facts of our own schemas. */
export function schemaFacts(): Facts {
  const facts = new Map<string, Map<string, string>>();
  for (const [id, schema] of rootTypes) add(facts, schema, id.slice(0, id.indexOf("/")));
  return facts;
}

function add(facts: Map<string, Map<string, string>>, schema: Schema, group: string): void {
  if (schema.type === "array") return add(facts, schema.items, group);
  if (schema.type === "map") return add(facts, schema.values, group);
  if (schema.type !== "object" || facts.has(idOf(schema, group))) return;
  // apiVersion and kind have no number.
  const fields = Object.entries(schema.fields).filter(([, { number }]) => number !== 0);
  const lines = fields.map(([name, field]) => [name, factOf(field, group)] as const);
  facts.set(
    idOf(schema, group),
    new Map([...(schema.isAtomic === true ? [[atomicStruct, ""] as const] : []), ...lines]),
  );
  for (const [, field] of fields) add(facts, field.schema, group);
}

function factOf(field: Field, group: string): string {
  return [
    `${(field.embeddedIn ?? []).map((number) => `${number}.`).join("")}${field.number}`,
    typeText(field.schema, group),
    field.presence ?? "omitEmpty",
    ...(field.isRequired === true ? ["required"] : []),
    ...(field.default === undefined ? [] : [`default=${JSON.stringify(field.default)}`]),
  ].join(" ");
}

function typeText(schema: Schema, group: string): string {
  if (schema.type === "object") return idOf(schema, group);
  if (schema.type === "any") return "any";
  if (schema.type === "map") {
    return `${schema.isAtomic === true ? "atomic-" : ""}map[${typeText(schema.values, group)}]`;
  }
  const text = schema.type === "array" ? `${listText(schema)}[${typeText(schema.items, group)}]` : schema.type;
  return schema.goType === undefined ? text : `${text}:${schema.goType}`;
}

const listText = ({ list, mapKeys = [], patchMerge }: ArraySchema): string =>
  [
    list,
    ...(mapKeys.length === 0 ? [] : [`(${mapKeys.join(",")})`]),
    ...(patchMerge === undefined ? [] : [`/merge(${patchMerge.mergeKey ?? ""})`]),
    ...(patchMerge?.retainsKeys === true ? ["/retainKeys"] : []),
  ].join("");

/** `core/v1.Taint`: the package of an object's Go type, by the group of the kind that it is part of, and its name. */
function idOf({ package: shared, goType }: ObjectSchema, group: string): string {
  const [version, name] = goType.split(".");
  return `${shared === metaPackage ? "meta" : group}/${version}.${name}`;
}

function folderOf(group: string): string {
  return group === "" ? "core" : group.slice(0, group.indexOf("."));
}
