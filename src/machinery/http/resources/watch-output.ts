import type { ByteSink } from "../../api/http-message.ts";
import { FrameQueue } from "./frame-queue.ts";
import type { FrameQueueOptions } from "./frame-queue.ts";

/** A reader that lags this far behind is disconnected. It can resume where it stopped. */
const maximumBufferedBytes = 16 * 1024 * 1024;

/** Sends the frames of one watch, and ends the watch when its reader lags too far behind. */
export class WatchOutput {
  readonly #sink: ByteSink;
  readonly #queue: FrameQueue;
  #isEnded = false;
  #isInitial = true;
  /** A reader in this process gets the initial state without pauses, and may exceed the limit by this much. */
  #initialBytes = 0;

  constructor(options: FrameQueueOptions) {
    this.#sink = options.sink;
    this.#queue = new FrameQueue(options);
  }

  /** The bytes that the reader has not taken yet; 0 after the end. */
  get waitingBytes(): number {
    return this.#isEnded ? 0 : this.#queue.waitingBytes;
  }

  /** Takes a frame that never changes. Ignored after the end. */
  write(frame: Buffer): void {
    if (this.#isEnded) return;
    this.#queue.add(frame);
    if (this.#isInitial) this.#initialBytes += this.#sink.isInProcess === true ? frame.length : 0;
    else if (this.#queue.waitingBytes > maximumBufferedBytes + this.#initialBytes) this.end();
  }

  /** The initial state is written: the limit holds from now on. */
  endInitialState(): void {
    this.#isInitial = false;
  }

  /** Sends the waiting frames, then ends the stream of the response. */
  end(): void {
    if (this.#isEnded) return;
    this.close();
    this.#sink.end();
  }

  /** Sends the waiting frames. The stream of the response has ended already, or the caller ends it. */
  close(): void {
    this.#isEnded = true;
    this.#queue.flush();
  }
}
