import type { ByteSink } from "../../api/http-message.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";

/** How long the frames of all watches together may keep requests and timers waiting. */
const turnMilliseconds = 1;
/** The clock is read once for so many queues, because a write to a stream takes only microseconds. */
const queuesPerClockRead = 16;
/** Frames are joined up to this size. */
const maximumJoinedBytes = 64 * 1024;
/** The approximate limit of what one queue sends in a turn. */
const maximumTurnBytes = 1024 * 1024;

export interface FrameQueueOptions {
  readonly sink: ByteSink;
  /** Whether several frames may be one write. Over a WebSocket, each is a message of its own. */
  readonly joinsFrames: boolean;
}

/**
 * Sends the frames of one watch in order, from the next turn of the event loop on. An event for thousands of watches takes
 * several turns: other requests run in between, and frames that arrive meanwhile join the same write. A reader in the process gets each
 * frame at once.
 */
export class FrameQueue {
  readonly #sink: ByteSink;
  readonly #joinsFrames: boolean;
  #frames: Buffer[] = [];
  /** The index of the first frame that is not sent yet. */
  #next = 0;
  #bytes = 0;

  constructor({ sink, joinsFrames }: FrameQueueOptions) {
    this.#sink = sink;
    this.#joinsFrames = joinsFrames;
  }

  /** Takes a frame, which must not change any more, because several queues share it. */
  add(frame: Buffer): void {
    if (this.#sink.isInProcess === true) return this.#sink.write(frame);
    if (this.#frames.length === 0) sendInTurn(this);
    this.#frames.push(frame);
    this.#bytes += frame.length;
  }

  /** The bytes that the reader has not taken yet. */
  get waitingBytes(): number {
    return this.#bytes + this.#sink.bufferedBytes();
  }

  /** Sends everything now. */
  flush(): void {
    while (this.sendSome(new JoinedFrames()));
  }

  /** Returns whether there is more to send. */
  sendSome(joined: JoinedFrames): boolean {
    if (this.#frames.length === 1) {
      // Most watches get one event at a time. `pop` keeps the array's memory for the next one.
      const frame = this.#frames.pop();
      this.#bytes = 0;
      if (frame !== undefined) this.#sink.write(frame);
      return false;
    }
    const remainingBytes = this.#bytes - maximumTurnBytes;
    while (this.#next < this.#frames.length && this.#bytes > remainingBytes) {
      this.#sink.write(joined.join(this.#takeFrames()));
    }
    if (this.#next < this.#frames.length) return true;
    this.#frames = [];
    this.#next = 0;
    return false;
  }

  /** The frames of one write. */
  #takeFrames(): readonly Buffer[] {
    const from = this.#next;
    let bytes = 0;
    do {
      bytes += this.#frames[this.#next]?.length ?? 0;
      this.#next += 1;
    } while (this.#joinsFrames && bytes + (this.#frames[this.#next]?.length ?? Infinity) <= maximumJoinedBytes);
    this.#bytes -= bytes;
    return this.#frames.slice(from, this.#next);
  }
}

/** Frames that several queues send in one write are joined once. */
class JoinedFrames {
  readonly #byFirst = new Map<Buffer, { readonly frames: readonly Buffer[]; readonly bytes: Buffer }>();

  join(frames: readonly Buffer[]): Buffer {
    const [first] = frames;
    if (first === undefined || frames.length === 1) return first ?? noBytes;
    const known = this.#byFirst.get(first);
    if (known?.frames.length === frames.length && known.frames.every((frame, index) => frame === frames[index])) {
      return known.bytes;
    }
    const bytes = Buffer.concat(frames);
    this.#byFirst.set(first, { frames, bytes });
    return bytes;
  }
}

/** The queues with something to send, in the order of their turns. */
let waiting: FrameQueue[] = [];
let isTurnSet = false;

function sendInTurn(queue: FrameQueue): void {
  waiting.push(queue);
  if (!isTurnSet) setImmediate(sendTurn);
  isTurnSet = true;
}

function sendTurn(): void {
  const startedAt = performance.now();
  const joined = new JoinedFrames();
  const queues = waiting;
  waiting = [];
  let next = 0;
  try {
    while (next < queues.length) {
      const queue = queues[next++] as FrameQueue; // the loop ends at the length
      const hasMore = queue.sendSome(joined);
      if (hasMore) waiting.push(queue);
      const isClockRead = hasMore || next % queuesPerClockRead === 0;
      if (isClockRead && performance.now() - startedAt >= turnMilliseconds) break;
    }
  } finally {
    // After an error, too: the other watches must not wait for ever.
    if (next < queues.length) waiting = queues.slice(next).concat(waiting);
    isTurnSet = waiting.length > 0;
    if (isTurnSet) setImmediate(sendTurn);
  }
}
