import { ApiError } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { isJsonObject, jsonFields } from "../api/json/json-object.ts";
import { splitLines } from "../api/bytes/split-lines.ts";
import { receivedStatus } from "./received-status.ts";
import { UnreadableAnswer } from "./transport.ts";

/** One change of a watched object. A bookmark's object has only its kind and resourceVersion. */
export interface WatchEvent<T extends ApiObject = ApiObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
  /** The length of the event's line. */
  readonly bytes: number;
}

/** A line of a watch contains at most one object and its frame, so a longer line is not from an API server. */
const longestLineBytes = 16 * 1024 * 1024;

/** Splits the bytes of a watch into events. Throws the ApiError of an ERROR event (410: list again), and UnreadableAnswer. */
export async function* watchEvents<T extends ApiObject>(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<T>> {
  const tooLong = () => new UnreadableAnswer("a watch event is longer than any object may be");
  for await (const { bytes, isWhole } of splitLines(body, { maximumBytes: longestLineBytes, tooLong })) {
    const text = bytes.toString("utf8");
    if (isWhole && text.trim() !== "") yield { ...eventOf<T>(text), bytes: bytes.length };
  }
}

function eventOf<T extends ApiObject>(line: string): Omit<WatchEvent<T>, "bytes"> {
  const event = parseFrame(line);
  const { type, object } = event;
  if (type !== "ERROR") {
    if (isJsonObject(object) && isJsonObject(object["metadata"])) return event as unknown as WatchEvent<T>; // from the server
    throw new UnreadableAnswer("a watch event has no object");
  }
  const { message = "the watch failed", reason } = receivedStatus(object) ?? {};
  const { code } = jsonFields(object);
  throw new ApiError({ code: typeof code === "number" ? code : 500, message, reason });
}

function parseFrame(line: string): Partial<Record<keyof WatchEvent, unknown>> {
  let frame: unknown;
  try {
    frame = JSON.parse(line);
  } catch (cause) {
    throw new UnreadableAnswer("a line of the watch is not JSON", { cause });
  }
  return jsonFields(frame);
}
