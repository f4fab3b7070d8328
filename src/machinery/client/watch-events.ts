import { ApiError } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { Status } from "../api/status.ts";
import { UnreadableAnswer } from "./transport.ts";

/** One change of a watched object. A bookmark's object has only its kind and resourceVersion. */
export interface WatchEvent<T extends ApiObject = ApiObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
}

/** A line of a watch contains at most one object and its frame. A longer one does not come from this API. */
const longestLineBytes = 16 * 1024 * 1024;

/** Splits the bytes of a watch into events. Throws the ApiError of an ERROR event (410: list again), and UnreadableAnswer. */
export async function* watchEvents<T extends ApiObject>(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<T>> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    let bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
      const line = bytes.toString("utf8", 0, end);
      bytes = bytes.subarray(end + 1);
      if (line.trim() !== "") yield eventOf<T>(line);
    }
    if (bytes.length > longestLineBytes) throw new UnreadableAnswer("a watch event is longer than any object may be");
    rest = bytes;
  }
}

function eventOf<T extends ApiObject>(line: string): WatchEvent<T> {
  const event = parseFrame(line) as WatchEvent<T> | { type: "ERROR"; object: Status }; // a frame from the server
  if (event.type !== "ERROR") return event;
  const { code = 500, message = "the watch failed", reason } = event.object;
  throw new ApiError({ code, message, ...(reason !== undefined && { reason }) });
}

function parseFrame(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new UnreadableAnswer("a line of the watch is not JSON", { cause });
  }
}
