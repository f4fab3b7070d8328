import { notAcceptable } from "../../api/api-error.ts";
import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { compiledPartialMetadata, partialObjectMetadata } from "../../registry/reads/partial-object-metadata.ts";
import type { CompiledSchema } from "../../registry/definition/compiled-schema.ts";
import { goTypeName } from "../../registry/definition/resource-definition.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored/stored-object.ts";
import { parseIncludeObject, tableOf } from "../../registry/reads/table.ts";
import { encodeEnvelope } from "../../schema/protobuf/protobuf-envelope.ts";
import { joinInTurns } from "../../scheduling/request-turn.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { isPretty } from "../negotiation.ts";
import type { MediaType } from "../negotiation.ts";
import { textResponse, yamlResponse } from "../response.ts";
import { yamlParts } from "../yaml/write-yaml.ts";

export interface Representation {
  readonly request: HttpRequest;
  readonly status: number;
  readonly mediaType: MediaType;
}

export interface StoredRepresentation<T extends ApiObject> extends Representation {
  readonly registry: ResourceRegistry<T>;
}

/** Whether the stored text itself is the answer. For any other answer, the object is parsed. */
export const isStoredText = ({ request, mediaType }: Pick<Representation, "request" | "mediaType">): boolean =>
  mediaType.conversion === undefined && mediaType.format === "json" && !isPretty(request, mediaType);

/** Encodes a stored object in the negotiated representation. For plain JSON, splices the stored text. Returns a promise for long work. */
export function representStored<T extends ApiObject>(
  stored: StoredObject<T>,
  representation: StoredRepresentation<T>,
): MaybePromise<HttpResponse> {
  currentTrace()?.begin("encode");
  const { registry, request, status, mediaType } = representation;
  const { conversion } = mediaType;
  if (isStoredText(representation)) {
    const response: HttpResponse = {
      status,
      headers: { "content-type": mediaType.contentType },
      body: `${registry.served.text(stored)}\n`,
    };
    return request.inProcess === undefined ? response : { ...response, value: registry.served.object(stored.object) };
  }
  if (conversion === undefined) {
    const { schema } = registry.compiled;
    return representObject(registry.served.object(stored.object), { ...representation, schema });
  }
  const { object } = stored;
  if (conversion.kind === "PartialObjectMetadataList") throw notOfAList(registry.definition);
  if (conversion.kind === "PartialObjectMetadata") {
    const partial = partialObjectMetadata(object, conversion.version);
    return representObject(partial, { ...representation, schema: compiledPartialMetadata });
  }
  const table = tableOf([object], {
    registry,
    version: conversion.version,
    includeObject: parseIncludeObject(request.query),
    now: registry.clock.now(),
    metadata: stored.revision === 0 ? {} : { resourceVersion: stored.resourceVersion },
    hasColumnDefinitions: true,
  });
  return textAnswer(table, representation);
}

/** The 406 for a request for the metadata of a list where the answer is one object. */
export const notOfAList = (kind: Parameters<typeof goTypeName>[0]): Error =>
  notAcceptable(
    `you requested PartialObjectMetadataList, but the requested object is not a list (*${goTypeName(kind)})`,
  );

/** Encodes any object in the negotiated format. */
export const representObject = <T extends { readonly kind: string; readonly apiVersion: string }>(
  object: T,
  representation: Representation & { readonly schema: CompiledSchema<T> },
): MaybePromise<HttpResponse> => {
  currentTrace()?.begin("encode");
  return representation.mediaType.format === "protobuf"
    ? {
        status: representation.status,
        headers: { "content-type": representation.mediaType.contentType },
        body: encodeEnvelope(representation.schema.protobuf, object),
      }
    : textAnswer(object, representation);
};

/** YAML takes a hundred times as long to write as JSON, so it is written in turns. */
const textAnswer = (value: object, representation: Representation): MaybePromise<HttpResponse> =>
  representation.mediaType.format === "yaml"
    ? andThen(joinInTurns(yamlParts(value)), (body) => yamlResponse(body, { status: representation.status, value }))
    : textResponse(value, representation);
