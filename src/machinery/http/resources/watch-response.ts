import { ApiError } from "../../api/api-error.ts";
import type { ByteSink, HttpRequest, HttpResponse } from "../../api/http-message.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { Schedule } from "../../api/schedule.ts";
import type { ListOptions } from "../../registry/list-options.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { parseResourceVersion } from "../../registry/resource-version.ts";
import { parseIncludeObject } from "../../registry/table.ts";
import { watchObjects } from "../../registry/watch-objects.ts";
import { protobufMediaType } from "../../schema/protobuf-envelope.ts";
import type { MediaType } from "../negotiation.ts";
import { watchFrames } from "./watch-frames.ts";
import type { WatchFrames } from "./watch-frames.ts";

export interface WatchResponseOptions<T extends ApiObject> {
  readonly request: HttpRequest;
  readonly options: ListOptions<T>;
  readonly mediaType: MediaType;
  readonly schedule: Schedule;
}

/** How long a watch lasts that does not say it; a random part keeps watches from ending all at once. */
const minimumDurationMilliseconds = 30 * 60_000;
const bookmarkIntervalMilliseconds = 60_000;
/** A last bookmark so long before the end spares the next watch most of its replay. */
const lastBookmarkMilliseconds = 2000;
/** A reader that is so far behind is ended: it can resume where it was. */
const maximumBufferedBytes = 16 * 1024 * 1024;

const contentTypes = {
  json: "application/json",
  yaml: "application/json",
  protobuf: `${protobufMediaType};stream=watch`,
} as const satisfies Record<MediaType["format"], string>;

/** The stream of a watch. Throws a 400 for what could only fail once it has begun. */
export function watchResponse<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { request, options, mediaType, schedule }: WatchResponseOptions<T>,
): HttpResponse {
  parseResourceVersion(options.resourceVersion);
  const includeObject = mediaType.conversion?.kind === "Table" ? parseIncludeObject(request.query) : "Metadata";
  return {
    status: 200,
    headers: { "content-type": contentTypes[mediaType.format] },
    body: {
      start: (sink) =>
        stream(registry, { options, schedule, sink, frames: watchFrames(registry, { mediaType, includeObject }) }),
    },
  };
}

interface Stream<T extends ApiObject> {
  readonly options: ListOptions<T>;
  readonly schedule: Schedule;
  readonly sink: ByteSink;
  readonly frames: WatchFrames<T>;
}

function stream<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { options, schedule, sink, frames }: Stream<T>,
): () => void {
  let isEnded = false;
  /** What the reader has been told everything up to; undefined until the watch has begun. */
  let revision: number | undefined;
  /** What the state at the start may take besides: a reader cannot have read that yet. */
  let initialBytes = 0;
  let isInitial = true;

  const end = (): void => {
    if (isEnded) return;
    isEnded = true;
    sink.end();
  };
  const write = (frame: Buffer): void => {
    if (isEnded) return;
    sink.write(frame);
    if (isInitial) initialBytes += frame.length;
    else if (sink.bufferedBytes() > maximumBufferedBytes + initialBytes) end();
  };
  const watch = watchObjects(registry, {
    options,
    observer: {
      onChange(type, object) {
        write(frames.change(type, object));
      },
      onInitialEventsEnd(at) {
        if (options.allowsBookmarks) write(frames.bookmark(at, { isInitialEventsEnd: true }));
      },
      onProgress(at) {
        revision = at;
      },
      onReady() {
        isInitial = false;
      },
      onEnd(error) {
        if (error instanceof ApiError) write(frames.error(error));
        end();
      },
    },
  });

  const durationMilliseconds = durationOf(options);
  const bookmark = (): void => {
    if (revision !== undefined) write(frames.bookmark(revision, { isInitialEventsEnd: false }));
  };
  let cancelBookmark = (): void => {};
  const scheduleBookmark = (): void => {
    cancelBookmark = schedule(() => {
      bookmark();
      scheduleBookmark();
    }, bookmarkIntervalMilliseconds);
  };
  const cancels: (() => void)[] = [];
  if (options.allowsBookmarks) {
    scheduleBookmark();
    // A watch that is shorter than that gets it as it ends: timers of one time run in the order of their making.
    const early = durationMilliseconds > lastBookmarkMilliseconds ? lastBookmarkMilliseconds : 0;
    cancels.push(schedule(bookmark, durationMilliseconds - early));
  }
  cancels.push(schedule(end, durationMilliseconds));
  return () => {
    isEnded = true;
    watch.stop();
    cancelBookmark();
    for (const cancel of cancels) cancel();
  };
}

/** Timers take no more than 2^31 - 1 milliseconds. */
const maximumDurationMilliseconds = 2 ** 31 - 1;

function durationOf<T extends ApiObject>({ timeoutSeconds = 0 }: ListOptions<T>): number {
  return timeoutSeconds > 0
    ? Math.min(timeoutSeconds * 1000, maximumDurationMilliseconds)
    : minimumDurationMilliseconds * (1 + Math.random());
}
