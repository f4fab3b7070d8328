import { ApiError } from "../../api/api-error.ts";
import { asError } from "../../api/thrown-error.ts";
import type { ByteSink, HttpRequest, HttpResponse } from "../../api/http-message.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { UserInfo } from "../../api/user-info.ts";
import type { Schedule } from "../../api/clock.ts";
import type { ListOptions } from "../../registry/reads/list-options.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { parseResourceVersion } from "../../registry/resource-version.ts";
import { parseIncludeObject } from "../../registry/reads/table.ts";
import { watchObjects } from "../../registry/reads/watch-objects.ts";
import { isStoreFailure } from "../../registry/stored/store-failures.ts";
import { watchFrameLengthBytes } from "../../schema/protobuf/protobuf-envelope.ts";
import { contentTypes } from "../negotiation.ts";
import type { MediaType } from "../negotiation.ts";
import { ReaderPace } from "./reader-pace.ts";
import { watchFrames } from "./watch-frames.ts";
import type { WatchFrames } from "./watch-frames.ts";
import { WatchOutput } from "./watch-output.ts";

export interface WatchResponseOptions<T extends ApiObject> {
  readonly request: HttpRequest;
  readonly user: UserInfo;
  readonly options: ListOptions<T>;
  readonly mediaType: MediaType;
  readonly schedule: Schedule;
}

/** The duration of a watch without a timeout. A random part keeps watches from ending all at once. */
const minimumDurationSeconds = 30 * 60;
const bookmarkIntervalMilliseconds = 60_000;
/** A bookmark this long before the end of a watch spares the next watch most of its replay. */
const lastBookmarkMilliseconds = 2000;

/**
 * Creates the stream of a watch. Throws a 400 now for faults that would otherwise appear only after the stream has
 * started.
 */
export function watchResponse<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { request, user, options, mediaType, schedule }: WatchResponseOptions<T>,
): HttpResponse {
  parseResourceVersion(options.resourceVersion);
  const includeObject = mediaType.conversion?.kind === "Table" ? parseIncludeObject(request.query) : "Metadata";
  const isWebSocket = request.isWebSocket ?? false;
  const isText = mediaType.format !== "protobuf";
  return {
    status: isWebSocket ? 101 : 200,
    headers: isWebSocket
      ? {}
      : { "content-type": isText ? contentTypes.json : `${contentTypes.protobuf};stream=watch` },
    body: {
      messageType: isText ? "text" : "binary",
      start: (sink) =>
        startWatch(registry, {
          user,
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

interface WatchStreamOptions<T extends ApiObject> {
  readonly user: UserInfo;
  readonly options: ListOptions<T>;
  readonly schedule: Schedule;
  readonly sink: ByteSink;
  readonly joinsFrames: boolean;
  readonly frames: WatchFrames<T>;
}

/** Writes the state, changes and bookmarks to the sink until the watch's time is over. Returns the function that stops it before. */
function startWatch<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { user, options, schedule, sink, joinsFrames, frames }: WatchStreamOptions<T>,
): () => void {
  const durationMilliseconds = durationOf(options);
  if (durationMilliseconds < 0) {
    sink.end();
    return () => {};
  }
  const output = new WatchOutput({ sink, joinsFrames });
  const pace = new ReaderPace({ waitingBytes: () => output.waitingBytes, schedule });
  // A bug ends only this watch, and the process logs the unhandled rejection.
  const fail = (fault: unknown): void => {
    if (fault instanceof ApiError) output.write(frames.error(fault));
    else if (!isStoreFailure(fault)) void Promise.reject(asError(fault));
    output.end();
  };
  const sendBookmark = (): void => {
    const { progress } = watch;
    try {
      if (progress !== undefined) output.write(frames.bookmark(progress, { isInitialEventsEnd: false }));
    } catch (error) {
      fail(error);
    }
  };
  let cancelTimers = (): void => {};
  const watch = watchObjects(registry, {
    user,
    options,
    observer: {
      // As in upstream, the time begins after the wait for a future version. So a short watch gets the error that it was not written.
      onStart() {
        const cancelBookmarks = options.allowsBookmarks
          ? scheduleBookmarks(sendBookmark, { schedule, durationMilliseconds })
          : undefined;
        const cancelEnd = schedule(() => output.end(), durationMilliseconds);
        cancelTimers = () => {
          cancelBookmarks?.();
          cancelEnd();
        };
      },
      onChange: (type, object) => output.write(frames.change(type, object)),
      onInitialEventsEnd(at) {
        if (options.allowsBookmarks) output.write(frames.bookmark(at, { isInitialEventsEnd: true }));
      },
      untilRead: () => (sink.isInProcess === true ? undefined : pace.untilRead()),
      onReady: () => output.endInitialState(),
      onEnd: fail,
    },
  });
  return () => {
    output.close();
    watch.stop();
    pace.stop();
    cancelTimers();
  };
}

/** Calls `send` every minute and near the end of the watch. Returns the function that cancels this. */
function scheduleBookmarks(
  send: () => void,
  { schedule, durationMilliseconds }: { readonly schedule: Schedule; readonly durationMilliseconds: number },
): () => void {
  let cancelNext = (): void => {};
  const scheduleNext = (): void => {
    cancelNext = schedule(() => {
      scheduleNext(); // first, because the watch may end in `send`
      send();
    }, bookmarkIntervalMilliseconds);
  };
  scheduleNext();
  // A shorter watch gets its bookmark at its end: timers for the same time run in the order of their creation.
  const early = durationMilliseconds > lastBookmarkMilliseconds ? lastBookmarkMilliseconds : 0;
  const cancelLast = schedule(send, durationMilliseconds - early);
  return () => {
    cancelNext();
    cancelLast();
  };
}

/** The duration in milliseconds. A negative timeout ends the watch before it begins. */
function durationOf<T extends ApiObject>({ timeoutSeconds = 0 }: ListOptions<T>): number {
  if (timeoutSeconds !== 0) return timeoutSeconds * 1000;
  // In whole seconds, because timers of the same duration share a list in Node.js.
  return 1000 * Math.floor(minimumDurationSeconds * (1 + Math.random()));
}
