import { notAcceptable } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { ApiList, ApiObject } from "../../api/object-meta.ts";
import type { ObjectList } from "../../registry/list-objects.ts";
import {
  listMetadata,
  compiledPartialMetadataList,
  partialObjectMetadataList,
} from "../../registry/partial-object-metadata.ts";
import { goTypeName } from "../../registry/resource-definition.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored-object.ts";
import { parseIncludeObject, tableOf } from "../../registry/table.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { isPretty } from "../negotiation.ts";
import { textResponse } from "../response.ts";
import { representObject } from "./represent-object.ts";
import type { Representation } from "./represent-object.ts";

/** Encodes a list in the negotiated representation. For plain JSON, joins the stored texts of the items. */
export function representList<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  list: ObjectList<T>,
  representation: Representation,
): HttpResponse {
  currentTrace()?.begin("encode");
  const { request, status, mediaType } = representation;
  const { conversion, format, contentType } = mediaType;
  if (conversion === undefined) {
    if (format === "json" && !isPretty(request, mediaType)) {
      return { status, headers: { "content-type": contentType }, body: joined(registry, list) };
    }
    return representObject(registry.compiled.schema.list, listObject(registry, list), representation);
  }
  if (conversion.kind === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${goTypeName(registry.definition)}List)`,
    );
  }
  if (conversion.kind === "PartialObjectMetadataList") {
    const converted = partialObjectMetadataList(list, conversion.version);
    return representObject(compiledPartialMetadataList, converted, representation);
  }
  const objects = list.items.map(({ object }) => object);
  const table = tableOf(registry, objects, {
    version: conversion.version,
    includeObject: parseIncludeObject(request.query),
    now: registry.clock.now(),
    metadata: listMetadata(list),
    hasColumnDefinitions: true,
  });
  return textResponse(table, representation);
}

function joined<T extends ApiObject>({ definition, apiVersion }: ResourceRegistry<T>, list: ObjectList<T>): string {
  const type = `"kind":${JSON.stringify(`${definition.kind}List`)},"apiVersion":${JSON.stringify(apiVersion)}`;
  const items = list.items.map(({ itemText }) => itemText).join(",");
  return `{${type},"metadata":${JSON.stringify(listMetadata(list))},"items":[${items}]}\n`;
}

const listObject = <T extends ApiObject>(
  { definition, apiVersion }: ResourceRegistry<T>,
  list: ObjectList<T>,
): ApiList<T> => ({
  kind: `${definition.kind}List`,
  apiVersion,
  metadata: listMetadata(list),
  items: list.items.map(itemOf),
});

/** Items have no kind and apiVersion of their own: they follow from the list's. */
function itemOf<T extends ApiObject>({ object }: StoredObject<T>): T {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
  return item as unknown as T; // the form of T inside a list
}
