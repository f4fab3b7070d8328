import { statusOf } from "../../api/api-error.ts";
import type { ApiError } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { compiledPartialMetadata, partialObjectMetadata } from "../../registry/reads/partial-object-metadata.ts";
import type { CompiledSchema } from "../../registry/definition/compiled-schema.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored/stored-object.ts";
import { tableOf } from "../../registry/reads/table.ts";
import type { IncludeObject } from "../../registry/reads/table.ts";
import type { ChangeType } from "../../registry/reads/watch-objects.ts";
import { encodeEnvelope, encodeWatchFrame } from "../../schema/protobuf/protobuf-envelope.ts";
import type { MediaType } from "../negotiation.ts";
import { compiledStatus } from "../response.ts";
import { RecentFrames } from "./recent-frames.ts";

/** Marks the bookmark after which the initial state of a list-watch is complete. */
const initialEventsEnd = { "k8s.io/initial-events-end": "true" };
const endsInitialEvents = ({ metadata }: ApiObject): boolean =>
  metadata.annotations?.["k8s.io/initial-events-end"] === "true";

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

/**
 * The frames of the most recently changed objects: all watches need them at about the same time. Keeping them longer
 * would double the memory of every object.
 */
const recent = new RecentFrames({ maximumObjects: 512, maximumBytes: 32 * 2 ** 20 });

/**
 * Creates the encoder for the frames of one watch. A frame is made once for all watches of a representation, because a large object and
 * hundreds of watches would delay everything else.
 */
export function watchFrames<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { mediaType, includeObject }: FramesRequest,
): WatchFrames<T> {
  const { format, conversion } = mediaType;
  const isTable = conversion?.kind === "Table";
  const isPlainJson = conversion === undefined && format === "json";
  /** Only the first event of a watch has the columns of its table. */
  let isFirst = isTable;
  const encode = objectEncoder(registry, { mediaType, includeObject, hasColumns: () => isFirst });
  const form = `${registry.apiVersion} ${format} ${conversion?.kind ?? ""} ${conversion?.version ?? ""} ${isTable ? includeObject : ""}`;
  const names = { ADDED: `ADDED ${form}`, MODIFIED: `MODIFIED ${form}`, DELETED: `DELETED ${form}` } as const;
  const make = (type: ChangeType, stored: StoredObject<T>): Buffer =>
    isPlainJson ? spliced(type, registry.served.text(stored)) : encode(type, stored.object);
  return {
    change(type, stored) {
      // Ages are in seconds.
      const second = isTable ? Math.floor(registry.clock.now() / 1000) : 0;
      const name = isFirst ? `first ${names[type]}` : names[type];
      let frame = recent.of(stored)?.get(name);
      if (frame?.second !== second) {
        frame = { bytes: make(type, stored), second };
        recent.add(stored, { name, frame });
      }
      isFirst = false;
      return frame.bytes;
    },
    bookmark(revision, { isInitialEventsEnd }) {
      // In the stored form, like the objects of all other events.
      const { storedApiVersion, storedSchema } = registry.compiled;
      const bookmark = {
        kind: registry.definition.kind,
        apiVersion: storedApiVersion,
        metadata: { resourceVersion: String(revision), ...(isInitialEventsEnd && { annotations: initialEventsEnd }) },
      };
      // Without defaults, because upstream builds the object of a bookmark from an empty Go value.
      const { emptyObject } = storedSchema;
      // An object of the kind: the first spread gives the order of the fields, the last one their values.
      const object = { ...bookmark, ...emptyObject, ...bookmark } as ApiObject as T;
      const bytes = encode("BOOKMARK", object);
      isFirst = false;
      return bytes;
    },
    error: (error) => valueEncoder(compiledStatus, format)("ERROR", statusOf(error)),
  };
}

/** Encodes an event of a type (`ADDED`, ...) for a value. */
type EncodeEvent<V> = (type: string, value: V) => Buffer;

/** Encodes objects as the representation shows them: whole, as their metadata, or as a table of one row. */
function objectEncoder<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  {
    mediaType: { format, conversion },
    includeObject,
    hasColumns,
  }: FramesRequest & {
    /** Whether the next table has columns. */
    readonly hasColumns: () => boolean;
  },
): EncodeEvent<T> {
  if (conversion === undefined) {
    const encodeServed = valueEncoder(registry.compiled.schema, format);
    return (type, object) => encodeServed(type, registry.served.object(object));
  }
  const { version } = conversion;
  if (conversion.kind !== "Table") {
    const encodePartial = valueEncoder(compiledPartialMetadata, format);
    return (type, object) => encodePartial(type, partialObjectMetadata(object, version));
  }
  return (type, object) => {
    const table = tableOf([object], {
      registry,
      version,
      // Without its metadata, a row would not show that the initial state is complete.
      includeObject: includeObject === "None" && endsInitialEvents(object) ? "Metadata" : includeObject,
      now: registry.clock.now(),
      metadata: { resourceVersion: object.metadata.resourceVersion ?? "" },
      hasColumnDefinitions: hasColumns(),
    });
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
