import { badRequest } from "../../api/api-error.ts";
import type { ApiObject, ListMeta } from "../../api/object-meta.ts";
import { partialObjectMetadata } from "./partial-object-metadata.ts";
import type { MetaVersion, PartialObjectMetadata } from "./partial-object-metadata.ts";
import type { ResourceDefinition, RowCondition } from "../definition/resource-definition.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { parametersOf } from "../query-values.ts";

/** The part of the object that a row contains in addition to the cells. */
export type IncludeObject = "None" | "Metadata" | "Object";

export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: ListMeta;
  /** null in all events of a watch except the first. */
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

interface TableRow {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly RowCondition[];
  readonly object: PartialObjectMetadata | ApiObject | null;
}

/** The parts of a registry that its tables need. */
type TabledKind<T extends ApiObject> = Pick<ResourceRegistry<T>, "definition" | "served">;

export interface TableOptions<T extends ApiObject> {
  readonly registry: TabledKind<T>;
  readonly version: MetaVersion;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch. Ages are relative to it. */
  readonly now: number;
  readonly metadata: ListMeta;
  readonly hasColumnDefinitions: boolean;
}

/** Reads the `includeObject` parameter. Throws a 400. */
export function parseIncludeObject(query: string): IncludeObject {
  const value = query === "" ? "" : (parametersOf(query).get("includeObject") ?? "");
  if (value === "" || value === "Metadata") return "Metadata";
  if (value === "None" || value === "Object") return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** Formats objects as table rows for people, with the kind's columns. */
export function tableOf<T extends ApiObject>(objects: readonly T[], options: TableOptions<T>): Table {
  const { registry, version, metadata, hasColumnDefinitions } = options;
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: hasColumnDefinitions ? columnDefinitions(registry.definition) : null,
    rows: objects.map((object) => tableRow(object, options)),
  };
}

/** Formats one object. */
export function tableRow<T extends ApiObject>(object: T, options: TableOptions<T>): TableRow {
  const { definition } = options.registry;
  const conditions = definition.rowConditions?.(object) ?? [];
  return {
    cells: definition.columns.map((column) => column.cell(object, { now: options.now })),
    ...(conditions.length > 0 && { conditions }),
    object: included(object, options),
  };
}

function included<T extends ApiObject>(
  object: T,
  { registry, includeObject, version }: TableOptions<T>,
): TableRow["object"] {
  if (includeObject === "None") return null;
  return includeObject === "Metadata" ? partialObjectMetadata(object, version) : registry.served.object(object);
}

const columnDefinitions = <T extends ApiObject>({ columns }: ResourceDefinition<T>): ColumnDefinition[] =>
  columns.map(({ name, type = "string", format = "", description, isWide = false }) => ({
    name,
    type,
    format,
    description,
    priority: isWide ? 1 : 0,
  }));
