import { LongWork } from "../../scheduling/long-work.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { notAcceptable, requestCanceled } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { UserInfo } from "../../api/user-info.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import type { ObjectList } from "../../registry/reads/list-objects.ts";
import { goTypeName } from "../../registry/definition/resource-definition.ts";
import { parseIncludeObject } from "../../registry/reads/table.ts";
import { envelopeEnd, envelopeStart } from "../../schema/protobuf/protobuf-envelope.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { FairQueue } from "../fair-queue.ts";
import { sharePath } from "../../scheduling/share-path.ts";
import { isPretty } from "../negotiation.ts";
import {
  jsonParts,
  messageParts,
  objectsForm,
  partialMetadataForm,
  prettyParts,
  storedParts,
  tableForm,
  yamlTexts,
} from "./list-form.ts";
import type { ListForm } from "./list-form.ts";
import { GrowingBody } from "./growing-body.ts";
import { isStoredText } from "./represent-object.ts";
import type { StoredRepresentation } from "./represent-object.ts";

/** A longer list is joined in several turns of the event loop. A list of large objects is too: it may be too long for a string. */
const shortTexts = { items: 500, characters: 1024 * 1024 };
/** Making another form of an object takes up to thirty times as long as joining its text. */
const shortForms = { items: 50, characters: 64 * 1024 };
const charactersAtOnce = 256 * 1024;

export interface ListRepresentation<T extends ApiObject> extends StoredRepresentation<T> {
  readonly user: UserInfo;
}

/** Encodes a list in the negotiated representation. For plain JSON, joins the stored texts of the items. */
export function representList<T extends ApiObject>(
  list: ObjectList<T>,
  { registry, request, user, status, mediaType }: ListRepresentation<T>,
): MaybePromise<HttpResponse> {
  currentTrace()?.begin("encode");
  const parts = partsOf(list, { registry, request, mediaType });
  const response = { status, headers: { "content-type": mediaType.contentType } };
  // YAML takes a hundred times as long to write as JSON: a list of any length may take long.
  const short = isStoredText({ request, mediaType }) ? shortTexts : shortForms;
  if (isShort(list, short) && mediaType.format !== "yaml") return { ...response, body: joinedAtOnce(parts) };
  return queuedBody(parts, { user, signal: request.signal }).then((body) => ({ ...response, body }));
}

/** A body in parts that are made one by one. */
interface BodyParts {
  readonly parts: Iterable<string | Buffer>;
  /** About how many parts there are. */
  readonly count: number;
  /** Returns the bytes around the parts, once their length is known. Absent: nothing is around them. */
  readonly frame?: (bytes: number) => readonly [before: Buffer, after: Buffer];
}

type RequestedForm<T extends ApiObject> = Pick<StoredRepresentation<T>, "registry" | "request" | "mediaType">;

function partsOf<T extends ApiObject>(list: ObjectList<T>, requested: RequestedForm<T>): BodyParts {
  const { registry, request, mediaType } = requested;
  const { format } = mediaType;
  const count = list.items.length + 1;
  if (isStoredText(requested)) return { parts: storedParts(registry, list), count };
  const form = formOf(list, requested);
  if (format === "yaml") return { parts: yamlTexts(form), count };
  if (format === "json") return { parts: isPretty(request, mediaType) ? prettyParts(form) : jsonParts(form), count };
  return { parts: messageParts(form), count, frame: (bytes) => [envelopeStart(form.head, bytes), envelopeEnd] };
}

function formOf<T extends ApiObject>(
  list: ObjectList<T>,
  { registry, request, mediaType: { conversion } }: RequestedForm<T>,
): ListForm {
  if (conversion === undefined) return objectsForm(registry, list);
  const { kind, version } = conversion;
  if (kind === "PartialObjectMetadataList") return partialMetadataForm(list, version);
  if (kind === "Table") return tableForm(list, { registry, version, includeObject: parseIncludeObject(request.query) });
  throw notAcceptable(
    `you requested PartialObjectMetadata, but the requested object is a list (*${goTypeName(registry.definition)}List)`,
  );
}

function isShort<T extends ApiObject>({ items }: ObjectList<T>, short: typeof shortTexts): boolean {
  if (items.length > short.items) return false;
  let characters = 0;
  for (const { textLength, isTextEvicted } of items) {
    if (isTextEvicted) return false; // its length may be unknown
    characters += textLength;
  }
  return characters <= short.characters;
}

function joinedAtOnce({ parts, frame }: BodyParts): string | Buffer {
  if (frame === undefined) return [...parts].join("");
  const message = Buffer.concat([...parts] as Buffer[]); // only bytes have a frame
  const [before, after] = frame(message.length);
  return Buffer.concat([before, message, after]);
}

const noFrame = (): readonly [Buffer, Buffer] => [noBytes, noBytes];
/** With this length, the bytes before a body are as many as they can be. */
const largestBodyBytes = 2 ** 32;

interface Reader {
  readonly user: UserInfo;
  readonly signal: AbortSignal;
}

/**
 * Four lists are made at a time. With more, each would be in memory half finished for longer, and none would be ready earlier.
 * The waiting requests are limited already by the request chain.
 */
const lists = new FairQueue({ concurrency: 4, queueLength: Number.MAX_SAFE_INTEGER });

/** Waits until fewer than four lists are being made, then makes the body of the list. */
async function queuedBody(parts: BodyParts, reader: Reader): Promise<Buffer> {
  const path = sharePath(reader.user);
  await lists.enter(path);
  try {
    return await joinedInTurns(parts, reader);
  } finally {
    lists.leave(path);
  }
}

/**
 * Makes the parts and joins them in several turns of the event loop, so that other requests are answered in between. Rejects when the
 * client has disconnected.
 */
async function joinedInTurns({ parts, count, frame = noFrame }: BodyParts, { user, signal }: Reader): Promise<Buffer> {
  const work = new LongWork(user);
  const body = new GrowingBody({ work, headBytes: frame(largestBodyBytes)[0].length });
  let text = "";
  let madeCount = 0;
  for (const next of parts) {
    madeCount += 1;
    let growth: Promise<void> | undefined;
    if (typeof next !== "string") growth = body.add(next, madeCount / count);
    else if ((text += next).length >= charactersAtOnce) {
      growth = body.add(text, madeCount / count);
      text = "";
    }
    if (growth !== undefined) await growth;
    const pause = work.pause();
    if (pause === undefined) continue;
    await pause;
    if (signal.aborted) throw requestCanceled();
  }
  await body.add(text, 1);
  return await body.finish(frame(body.length));
}
