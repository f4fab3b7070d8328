import { LongWork } from "../../api/long-work.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { notAcceptable, requestCanceled } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { ApiList, ApiObject } from "../../api/object-meta.ts";
import type { CompiledSchema } from "../../registry/compiled-schema.ts";
import type { ObjectList } from "../../registry/list-objects.ts";
import {
  listMetadata,
  compiledPartialMetadataList,
  partialObjectMetadataList,
} from "../../registry/partial-object-metadata.ts";
import { goTypeName } from "../../registry/resource-definition.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { parseIncludeObject, tableOf } from "../../registry/table.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { isPretty } from "../negotiation.ts";
import { textResponse } from "../response.ts";
import { yamlParts } from "../yaml.ts";
import { representObject } from "./represent-object.ts";
import type { Representation } from "./represent-object.ts";

/** A longer list is joined in several turns of the event loop. A list of large objects is too: it may be too long for a string. */
const itemsAtOnce = 500;
const charactersOfShortList = 1024 * 1024;
const charactersAtOnce = 256 * 1024;

/** Encodes a list in the negotiated representation. For plain JSON, joins the stored texts of the items. */
export function representList<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  list: ObjectList<T>,
  representation: Representation,
): MaybePromise<HttpResponse> {
  currentTrace()?.begin("encode");
  const { request, status, mediaType } = representation;
  const { conversion, format, contentType } = mediaType;
  if (conversion === undefined) {
    if (format === "json" && !isPretty(request, mediaType)) {
      const headers = { "content-type": contentType };
      if (isShort(list)) return { status, headers, body: [...itemTexts(registry, list)].join("") };
      return inTurns(itemTexts(registry, list), request.signal).then((body) => ({ status, headers, body }));
    }
    return represent(registry.compiled.schema.list, listObject(registry, list), representation);
  }
  if (conversion.kind === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${goTypeName(registry.definition)}List)`,
    );
  }
  if (conversion.kind === "PartialObjectMetadataList") {
    const converted = partialObjectMetadataList(list, conversion.version);
    return represent(compiledPartialMetadataList, converted, representation);
  }
  const objects = Array.from(list.items, ({ object }) => object);
  const table = tableOf(registry, objects, {
    version: conversion.version,
    includeObject: parseIncludeObject(request.query),
    now: registry.clock.now(),
    metadata: listMetadata(list),
    hasColumnDefinitions: true,
  });
  return format === "yaml" ? yamlInTurns(table, representation) : textResponse(table, representation);
}

const represent = <T extends { readonly kind: string; readonly apiVersion: string }>(
  schema: CompiledSchema<T>,
  list: T,
  representation: Representation,
): MaybePromise<HttpResponse> =>
  representation.mediaType.format === "yaml"
    ? yamlInTurns(list, representation)
    : representObject(schema, list, representation);

/** YAML takes a hundred times as long to write as JSON: a list of any length may take long. */
async function yamlInTurns(list: object, { request, status, mediaType }: Representation): Promise<HttpResponse> {
  const body = await inTurns(yamlParts(list), request.signal);
  return { status, headers: { "content-type": mediaType.contentType }, body };
}

function isShort<T extends ApiObject>({ items }: ObjectList<T>): boolean {
  if (items.length > itemsAtOnce) return false;
  let characters = 0;
  for (const { textLength, isForgotten } of items) {
    if (isForgotten) return false; // its length may be unknown
    characters += textLength;
  }
  return characters <= charactersOfShortList;
}

function openingOf<T extends ApiObject>(registry: ResourceRegistry<T>, list: ObjectList<T>): string {
  const { definition, apiVersion } = registry;
  const type = `"kind":${JSON.stringify(`${definition.kind}List`)},"apiVersion":${JSON.stringify(apiVersion)}`;
  return `{${type},"metadata":${JSON.stringify(listMetadata(list))},"items":[`;
}

/** Of more lists at once, each would be in memory half finished for longer, and none would be ready earlier. */
const joinedAtOnce = 4;
let running = 0;
const waiting: (() => void)[] = [];

async function inTurns(texts: Iterable<string>, signal: AbortSignal): Promise<Buffer> {
  if (running === joinedAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await joinedInTurns(texts, signal);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

/** The text of a list, in parts that are made one by one. */
function* itemTexts<T extends ApiObject>(registry: ResourceRegistry<T>, list: ObjectList<T>): Generator<string> {
  let before = openingOf(registry, list);
  for (const item of list.items) {
    yield `${before}${registry.itemTextOf(item)}`;
    before = ",";
  }
  yield list.items.length === 0 ? `${before}]}\n` : "]}\n";
}

/**
 * Makes the texts and joins them in several turns of the event loop, so that other requests are answered in between. Rejects when no client
 * waits for them any more.
 */
async function joinedInTurns(texts: Iterable<string>, signal: AbortSignal): Promise<Buffer> {
  const work = new LongWork();
  const parts: Buffer[] = [];
  let length = 0;
  let text = "";
  const flush = (): void => {
    const part = Buffer.from(text);
    parts.push(part);
    length += part.length;
    text = "";
  };
  for (const next of texts) {
    text += next;
    if (text.length >= charactersAtOnce) flush();
    const pause = work.pause();
    if (pause === undefined) continue;
    await pause;
    if (signal.aborted) throw requestCanceled();
  }
  flush();
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
    await work.pause();
  }
  return whole;
}

const listObject = <T extends ApiObject>(registry: ResourceRegistry<T>, list: ObjectList<T>): ApiList<T> => ({
  kind: `${registry.definition.kind}List`,
  apiVersion: registry.apiVersion,
  metadata: listMetadata(list),
  items: Array.from(list.items, (item) => registry.itemOf(item)),
});
