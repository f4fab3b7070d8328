import type { SizedIterable } from "../../api/sized-iterable.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { CompiledSchema } from "../../registry/definition/compiled-schema.ts";
import type { ObjectList } from "../../registry/reads/list-objects.ts";
import {
  compiledPartialMetadata,
  compiledPartialMetadataList,
  listMetadata,
  partialObjectMetadata,
} from "../../registry/reads/partial-object-metadata.ts";
import type { MetaVersion } from "../../registry/reads/partial-object-metadata.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { tableOf, tableRow } from "../../registry/reads/table.ts";
import type { TableOptions } from "../../registry/reads/table.ts";
import { ProtobufWriter } from "../../schema/protobuf/protobuf-wire.ts";
import { yamlParts } from "../yaml/write-yaml.ts";

/** A list as a client asked for it. */
export interface ListForm {
  /** All members of the list's JSON but the last one, which has the items. */
  readonly head: { readonly kind: string; readonly apiVersion: string };
  /** The name of the last member. */
  readonly member: "items" | "rows";
  /** Each item is made when it is asked for, because making all items of a long list at once would delay other requests. */
  readonly items: SizedIterable<object> | null;
  /** Absent: the form has no protobuf. */
  readonly schemas?: { readonly list: CompiledSchema; readonly item: CompiledSchema };
}

export const objectsForm = <T extends ApiObject>(registry: ResourceRegistry<T>, list: ObjectList<T>): ListForm => ({
  head: objectsHead(registry, list),
  member: "items",
  items: mapped(list.items, (item) => registry.served.item(item)),
  schemas: { list: registry.compiled.schema.list, item: registry.compiled.schema },
});

export const partialMetadataForm = <T extends ApiObject>(list: ObjectList<T>, version: MetaVersion): ListForm => ({
  head: listHead(list, { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${version}` }),
  member: "items",
  // null when empty, as in upstream.
  items: list.items.length === 0 ? null : mapped(list.items, ({ object }) => partialObjectMetadata(object, version)),
  schemas: { list: compiledPartialMetadataList, item: compiledPartialMetadata },
});

interface TableFormOptions<T extends ApiObject> extends Pick<TableOptions<T>, "version" | "includeObject"> {
  readonly registry: ResourceRegistry<T>;
}

export function tableForm<T extends ApiObject>(
  list: ObjectList<T>,
  { registry, ...options }: TableFormOptions<T>,
): ListForm {
  const whole = {
    ...options,
    registry,
    now: registry.clock.now(),
    metadata: listMetadata(list),
    hasColumnDefinitions: true,
  };
  const { rows: _rows, ...head } = tableOf([], whole);
  const isNull = list.items.length === 0 && registry.definition.emptyTableHasNullRows === true;
  return { head, member: "rows", items: isNull ? null : mapped(list.items, ({ object }) => tableRow(object, whole)) };
}

const objectsHead = <T extends ApiObject>({ definition, apiVersion }: ResourceRegistry<T>, list: ObjectList<T>) =>
  listHead(list, { kind: `${definition.kind}List`, apiVersion });

const listHead = <T extends ApiObject>(
  list: ObjectList<T>,
  type: { readonly kind: string; readonly apiVersion: string },
) => ({
  ...type,
  metadata: listMetadata(list),
});

const mapped = <T>(values: SizedIterable<T>, change: (value: T) => object): SizedIterable<object> => ({
  length: values.length,
  *[Symbol.iterator]() {
    for (const value of values) yield change(value);
  },
});

/** The text that JSON.stringify makes of the list, and a line feed. */
export const jsonParts = (form: ListForm): Iterable<string> => joinedTexts(form, JSON.stringify);

/** The same text for objects in their stored form: joins their stored texts, and parses no object. */
export const storedParts = <T extends ApiObject>(
  registry: ResourceRegistry<T>,
  list: ObjectList<T>,
): Iterable<string> =>
  joinedTexts({ head: objectsHead(registry, list), member: "items", items: list.items }, (item) =>
    registry.served.itemText(item),
  );

interface JoinedTexts<Item> extends Pick<ListForm, "head" | "member"> {
  readonly items: Iterable<Item> | null;
}

function* joinedTexts<Item>(
  { head, member, items }: JoinedTexts<Item>,
  textOf: (item: Item) => string,
): Generator<string> {
  let before = `${JSON.stringify(head).slice(0, -1)},"${member}":${items === null ? "null" : "["}`;
  for (const item of items ?? []) {
    yield `${before}${textOf(item)}`;
    before = ",";
  }
  yield `${before === "," ? "" : before}${items === null ? "" : "]"}}\n`;
}

const indentation = 2;
const ofItems = `\n${" ".repeat(2 * indentation)}`;

/** The text that JSON.stringify makes of the list with indentation. */
export function* prettyParts({ head, member, items }: ListForm): Generator<string> {
  let before = `${JSON.stringify(head, undefined, indentation).slice(0, -2)},\n  "${member}": ${items === null ? "null" : "["}`;
  let end = items === null ? "" : "]";
  for (const item of items ?? []) {
    yield `${before}${ofItems}${JSON.stringify(item, undefined, indentation).replaceAll("\n", ofItems)}`;
    before = ",";
    end = "\n  ]";
  }
  yield `${before === "," ? "" : before}${end}\n}`;
}

export const yamlTexts = ({ head, member, items }: ListForm): Iterable<string> =>
  yamlParts({ ...head, [member]: items });

/**
 * The protobuf message of the list, without its envelope. Throws TypeError for a form without protobuf: negotiation refuses such
 * requests.
 */
export function* messageParts({ head, items, schemas }: ListForm): Generator<Buffer> {
  if (schemas === undefined) throw new TypeError(`${head.kind} has no protobuf`);
  yield schemas.list.protobuf.encode({ ...head, items: [] });
  for (const item of items ?? []) {
    const writer = new ProtobufWriter();
    writer.bytesField(2, schemas.item.protobuf.encode(item));
    yield writer.finish();
  }
}
