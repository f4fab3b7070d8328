import { statusOf } from "../../api/api-error.ts";
import type { ApiError } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { compiledPartialMetadata, partialObjectMetadata } from "../../registry/partial-object-metadata.ts";
import type { CompiledSchema } from "../../registry/compiled-schema.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored-object.ts";
import { tableOf } from "../../registry/table.ts";
import type { IncludeObject } from "../../registry/table.ts";
import type { ChangeType } from "../../registry/watch-objects.ts";
import { encodeEnvelope, encodeWatchFrame } from "../../schema/protobuf-envelope.ts";
import type { MediaType } from "../negotiation.ts";
import { compiledStatus } from "../response.ts";

/** Marks the bookmark after which the initial state of a list-watch is complete. */
const initialEventsEnd = { "k8s.io/initial-events-end": "true" };

/** Encodes the events of one watch in its representation: JSON lines, or protobuf with length prefixes. */
export interface WatchFrames<T extends ApiObject> {
  change(type: ChangeType, object: StoredObject<T>): Buffer;
  bookmark(revision: number, options: { readonly isInitialEventsEnd: boolean }): Buffer;
  error(error: ApiError): Buffer;
}

export interface FramesRequest {
  readonly mediaType: MediaType;
  readonly includeObject: IncludeObject;
}

/** A frame that is the same for every watch of a representation is created once and shared. */
export function watchFrames<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { mediaType, includeObject }: FramesRequest,
): WatchFrames<T> {
  const { format, conversion } = mediaType;
  const encode = objectEncoder(registry, { mediaType, includeObject });
  const isPlainJson = conversion === undefined && format === "json";
  // Tables are not shared: ages differ, and only the first event has columns.
  const isShared = conversion?.kind !== "Table";
  const form = `${registry.apiVersion} ${format} ${conversion?.kind ?? ""} ${conversion?.version ?? ""}`;
  const names = { ADDED: `ADDED ${form}`, MODIFIED: `MODIFIED ${form}`, DELETED: `DELETED ${form}` } as const;
  const make = (type: ChangeType, stored: StoredObject<T>): Buffer =>
    isPlainJson ? spliced(type, registry.textOf(stored)) : encode(type, stored.object);
  return {
    change(type, stored) {
      if (!isShared) return make(type, stored);
      const known = sharedFrames(stored);
      let frame = known.get(names[type]);
      if (frame === undefined) known.set(names[type], (frame = make(type, stored)));
      return frame;
    },
    bookmark(revision, { isInitialEventsEnd }) {
      const bookmark = {
        kind: registry.definition.kind,
        apiVersion: registry.apiVersion,
        metadata: { resourceVersion: String(revision), ...(isInitialEventsEnd && { annotations: initialEventsEnd }) },
      };
      // No defaults: upstream builds it from an empty Go value.
      const { emptyObject } = registry.compiled.schema;
      return encode("BOOKMARK", { ...bookmark, ...emptyObject, ...bookmark } as ApiObject as T);
    },
    error: (error) => valueEncoder(compiledStatus, format)("ERROR", statusOf(error)),
  };
}

/** Encodes an event of a type (`ADDED`, ...) for a value. */
type EncodeEvent<V> = (type: string, value: V) => Buffer;

/** Encodes objects as the representation shows them: whole, as their metadata, or as a table of one row. */
function objectEncoder<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { mediaType: { format, conversion }, includeObject }: FramesRequest,
): EncodeEvent<T> {
  if (conversion === undefined) {
    const encodeServed = valueEncoder(registry.compiled.schema, format);
    return (type, object) => encodeServed(type, registry.served(object));
  }
  const { version } = conversion;
  if (conversion.kind !== "Table") {
    const encodePartial = valueEncoder(compiledPartialMetadata, format);
    return (type, object) => encodePartial(type, partialObjectMetadata(object, version));
  }
  let isFirst = true;
  return (type, object) => {
    const table = tableOf([object], {
      registry,
      version,
      includeObject,
      now: registry.clock.now(),
      metadata: { resourceVersion: object.metadata.resourceVersion ?? "" },
      hasColumnDefinitions: isFirst,
    });
    isFirst = false;
    return jsonFrame(type, table);
  };
}

const valueEncoder =
  <V extends Typed>(compiled: CompiledSchema<V>, format: MediaType["format"]): EncodeEvent<V> =>
  (type, value) =>
    format === "protobuf" ? encodeWatchFrame(type, encodeEnvelope(compiled.protobuf, value)) : jsonFrame(type, value);

interface Typed {
  readonly kind: string;
  readonly apiVersion: string;
}

const jsonFrame = (type: string, object: unknown): Buffer =>
  Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}\n`);

/** Wraps an object's stored text in a frame. */
const spliced = (type: ChangeType, text: string): Buffer => Buffer.from(`{"type":"${type}","object":${text}}\n`);

/**
 * The frames of the most recently changed objects: all watches need them at about the same time. Keeping them longer
 * would double the memory of every object.
 */
const recentFrames = new Map<StoredObject, Map<string, Buffer>>();
const maximumRecentObjects = 512;

function sharedFrames<T extends ApiObject>(stored: StoredObject<T>): Map<string, Buffer> {
  const key = stored as unknown as StoredObject; // used only as a map key
  let frames = recentFrames.get(key);
  if (frames === undefined) {
    frames = new Map();
    recentFrames.set(key, frames);
    if (recentFrames.size > maximumRecentObjects) {
      const [oldest] = recentFrames.keys();
      if (oldest !== undefined) recentFrames.delete(oldest);
    }
  }
  return frames;
}
