import { ApiError } from "../../api/api-error.ts";
import type { ByteSink, HttpRequest, HttpResponse } from "../../api/http-message.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { Schedule } from "../../api/clock.ts";
import type { ListOptions } from "../../registry/list-options.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { parseResourceVersion } from "../../registry/resource-version.ts";
import { parseIncludeObject } from "../../registry/table.ts";
import { watchObjects } from "../../registry/watch-objects.ts";
import { protobufMediaType, watchFrameLengthBytes } from "../../schema/protobuf-envelope.ts";
import type { MediaType } from "../negotiation.ts";
import { FrameQueue } from "./frame-queue.ts";
import { ReaderPace } from "./reader-pace.ts";
import { watchFrames } from "./watch-frames.ts";
import type { WatchFrames } from "./watch-frames.ts";

export interface WatchResponseOptions<T extends ApiObject> {
  readonly request: HttpRequest;
  readonly options: ListOptions<T>;
  readonly mediaType: MediaType;
  readonly schedule: Schedule;
}

/** The duration of a watch without a timeout. A random part keeps watches from ending all at once. */
const minimumDurationSeconds = 30 * 60;
const bookmarkIntervalMilliseconds = 60_000;
/** A last bookmark this long before the end spares the next watch most of its replay. */
const lastBookmarkMilliseconds = 2000;
/** A reader that lags this far behind is disconnected. It can resume where it stopped. */
const maximumBufferedBytes = 16 * 1024 * 1024;

const contentTypes = {
  json: "application/json",
  yaml: "application/json",
  protobuf: `${protobufMediaType};stream=watch`,
} as const satisfies Record<MediaType["format"], string>;

/**
 * Creates the stream of a watch. Throws a 400 now for faults that would otherwise appear only after the stream has
 * started.
 */
export function watchResponse<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { request, options, mediaType, schedule }: WatchResponseOptions<T>,
): HttpResponse {
  parseResourceVersion(options.resourceVersion);
  const includeObject = mediaType.conversion?.kind === "Table" ? parseIncludeObject(request.query) : "Metadata";
  const isWebSocket = request.isWebSocket ?? false;
  const isText = mediaType.format !== "protobuf";
  return {
    status: isWebSocket ? 101 : 200,
    headers: isWebSocket ? {} : { "content-type": contentTypes[mediaType.format] },
    body: {
      messageType: isText ? "text" : "binary",
      start: (sink) =>
        stream(registry, {
          options,
          schedule,
          sink: isWebSocket && !isText ? withoutLengths(sink) : sink,
          joinsFrames: !isWebSocket,
          frames: watchFrames(registry, { mediaType, includeObject }),
        }),
    },
  };
}

/** A WebSocket message has its own length, so protobuf omits the four length bytes of a stream, like upstream. */
const withoutLengths = (sink: ByteSink): ByteSink => ({
  write: (frame) => sink.write(frame.subarray(watchFrameLengthBytes)),
  bufferedBytes: () => sink.bufferedBytes(),
  end: () => sink.end(),
});

interface Stream<T extends ApiObject> {
  readonly options: ListOptions<T>;
  readonly schedule: Schedule;
  readonly sink: ByteSink;
  readonly joinsFrames: boolean;
  readonly frames: WatchFrames<T>;
}

function stream<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { options, schedule, sink, joinsFrames, frames }: Stream<T>,
): () => void {
  const durationMilliseconds = durationOf(options);
  if (durationMilliseconds < 0) {
    sink.end();
    return () => {};
  }
  const queue = new FrameQueue({ sink, joinsFrames });
  let isEnded = false;
  /** A reader in this process gets the initial state without pauses, and may exceed the limit by this much. */
  let initialBytes = 0;
  let isInitial = true;

  const end = (): void => {
    if (isEnded) return;
    isEnded = true;
    queue.flush();
    sink.end();
  };
  const write = (frame: Buffer): void => {
    if (isEnded) return;
    queue.add(frame);
    if (isInitial) initialBytes += sink.isInProcess === true ? frame.length : 0;
    else if (queue.waitingBytes > maximumBufferedBytes + initialBytes) end();
  };
  const pace = new ReaderPace({ waitingBytes: () => (isEnded ? 0 : queue.waitingBytes), schedule });
  const watch = watchObjects(registry, {
    options,
    observer: {
      onChange(type, object) {
        write(frames.change(type, object));
      },
      onInitialEventsEnd(at) {
        if (options.allowsBookmarks) write(frames.bookmark(at, { isInitialEventsEnd: true }));
      },
      untilRead: () => (sink.isInProcess === true ? undefined : pace.untilRead()),
      onReady() {
        isInitial = false;
      },
      onEnd(error) {
        if (error instanceof ApiError) write(frames.error(error));
        end();
      },
    },
  });

  const bookmark = (): void => {
    const { progress } = watch;
    if (progress !== undefined) write(frames.bookmark(progress, { isInitialEventsEnd: false }));
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
    // A shorter watch gets its bookmark at its end: timers for the same time run in the order of their creation.
    const early = durationMilliseconds > lastBookmarkMilliseconds ? lastBookmarkMilliseconds : 0;
    cancels.push(schedule(bookmark, durationMilliseconds - early));
  }
  cancels.push(schedule(end, durationMilliseconds));
  return () => {
    isEnded = true;
    queue.flush();
    watch.stop();
    pace.stop();
    cancelBookmark();
    for (const cancel of cancels) cancel();
  };
}

/** The maximum of timers: 2^31 - 1 milliseconds. */
const maximumDurationMilliseconds = 2 ** 31 - 1;

/** A negative one ends before the watch begins. */
function durationOf<T extends ApiObject>({ timeoutSeconds = 0 }: ListOptions<T>): number {
  if (timeoutSeconds !== 0) return Math.min(timeoutSeconds * 1000, maximumDurationMilliseconds);
  // In whole seconds: timers of the same duration share what Node.js keeps for them.
  return 1000 * Math.floor(minimumDurationSeconds * (1 + Math.random()));
}
