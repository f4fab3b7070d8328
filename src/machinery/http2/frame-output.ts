import type { Duplex } from "node:stream";
import { ByteAccumulator } from "../api/bytes/byte-accumulator.ts";
import { resetFrame } from "./control-frames.ts";
import { FrameWriter } from "./frame-writer.ts";
import type { Http2Stream } from "./http2-stream.ts";
import { defaultWindowBytes, errorCodes, frameHeaderBytes, maximumFrameBytes, maximumWindowBytes } from "./protocol.ts";

/** A connection ends when so many bytes of frames wait, because its client sends pings and does not read the answers. */
const maximumQueuedBytes = 64 * 1024;
/** How many bytes one connection writes in a turn of the event loop. Other connections write in between. */
const turnBytes = 256 * 1024;

/** Shorter writes are copied when they have to wait for the socket. */
const smallestKeptBytes = 16 * 1024;

/** Copies the bytes to memory of their own: the pool of Node.js is as large as the writer's buffer. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Connections that have something to write. They write together, at the end of a turn of the event loop. */
let waiting: FrameOutput[] = [];

function flushAll(): void {
  const outputs = waiting;
  waiting = [];
  let next = 0;
  try {
    while (next < outputs.length) (outputs[next++] as FrameOutput).flush(); // the loop ends at the length
  } finally {
    // Also after an error: the other connections must not wait endlessly.
    if (next < outputs.length) {
      waiting = outputs.slice(next).concat(waiting);
      setImmediate(flushAll);
    }
  }
}

/** Shared by all connections: they write one after the other. */
const writer = new FrameWriter();

export interface FrameOutputOptions {
  readonly socket: Duplex;
  /** Called when an answer is written completely, or could not be written. */
  readonly onAnswered: (stream: Http2Stream) => void;
}

/**
 * The output of one connection. Frames and answers wait for the end of the turn of the event loop and are sent in one write, because an
 * encrypted write costs more than all else that a short answer needs.
 */
export class FrameOutput {
  readonly #socket: Duplex;
  readonly #onAnswered: (stream: Http2Stream) => void;
  #windowBytes = defaultWindowBytes;
  /**
   * Frames of the connection and of closed streams, which are sent before all others. They are joined, because thousands of small buffers
   * take ten times as much memory.
   */
  readonly #frames = new ByteAccumulator();
  /** Streams with something to send, in the order of their turns. */
  #streams: Http2Stream[] = [];
  /** Streams whose bodies wait for the connection's window. */
  readonly #blocked = new Set<Http2Stream>();
  #willFlush = false;
  #isSocketFull = false;
  #isFirstHead = true;
  #isEnding = false;
  #isOver = false;

  constructor({ socket, onAnswered }: FrameOutputOptions) {
    this.#socket = socket;
    this.#onAnswered = onAnswered;
    socket.on("drain", () => {
      this.#isSocketFull = false;
      this.#scheduleFlush();
    });
  }

  /** Sends a frame before all answers that wait. */
  queue(frame: Buffer): void {
    if (this.#isOver) return;
    this.#frames.add(frame);
    if (this.#frames.length > maximumQueuedBytes) this.#socket.destroy();
    this.#scheduleFlush();
  }

  /** Call it when the stream has something to send. */
  schedule(stream: Http2Stream): void {
    this.#enqueue(stream);
    this.#scheduleFlush();
  }

  #enqueue(stream: Http2Stream): void {
    if (stream.isScheduled) return;
    stream.isScheduled = true;
    this.#streams.push(stream);
  }

  /** Widens the connection's window. Returns whether its new size is valid. */
  widen(bytes: number): boolean {
    this.#windowBytes += bytes;
    for (const stream of this.#blocked) this.schedule(stream);
    this.#blocked.clear();
    return this.#windowBytes <= maximumWindowBytes;
  }

  /**
   * Writes the waiting bytes now, if answers wait: a client that has widened its windows gets the next part of a long answer without
   * delay.
   */
  flushAnswers(): void {
    if (this.#streams.length > 0 && !this.#isSocketFull) this.flush();
  }

  /** Removes a closed stream. */
  forget(stream: Http2Stream): void {
    this.#blocked.delete(stream);
    if (!stream.isScheduled) return;
    const at = this.#streams.indexOf(stream);
    if (at >= 0) this.#streams.splice(at, 1);
  }

  /** Ends the connection when the waiting bytes are written. */
  end(): void {
    this.#isEnding = true;
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#willFlush || this.#isSocketFull || this.#isOver) return;
    this.#willFlush = true;
    if (waiting.push(this) === 1) setImmediate(flushAll);
  }

  /** Writes the waiting bytes, as far as windows and the socket allow. */
  flush(): void {
    this.#willFlush = false;
    if (this.#isOver || this.#socket.destroyed) return;
    writer.begin(this.#write);
    writer.frame(this.#frames.take());
    this.#writeStreams();
    writer.flush();
    if (this.#streams.length > 0 || this.#frames.length > 0) this.#scheduleFlush();
    else if (this.#isEnding) {
      this.#isOver = true;
      this.#socket.end();
    }
  }

  readonly #write = (bytes: Buffer, onWritten: () => void): void => {
    // A frame that has to wait must not keep all of the writer's buffer in memory.
    const mustWait = this.#socket.writableLength > 0 && bytes.length < smallestKeptBytes;
    if (!(mustWait ? this.#socket.write(copyOf(bytes)) : this.#socket.write(bytes, onWritten)))
      this.#isSocketFull = true;
    if (mustWait) onWritten();
  };

  /** Each stream sends its head, and then the streams take turns with a frame of their bodies. */
  #writeStreams(): void {
    for (let left = turnBytes; left > 0 && this.#streams.length > 0 && !this.#isSocketFull;) {
      const streams = this.#streams;
      this.#streams = [];
      let next = 0;
      try {
        while (next < streams.length && left > 0 && !this.#isSocketFull) {
          left -= this.#writeStream(streams[next++] as Http2Stream); // the loop ends at the length
        }
      } finally {
        // Also after an error: the other streams must not wait endlessly.
        if (next < streams.length) this.#streams = streams.slice(next).concat(this.#streams);
      }
    }
  }

  /** Writes the next frames of a stream. Returns the number of written bytes. */
  #writeStream(stream: Http2Stream): number {
    stream.isScheduled = false;
    const written = this.#writeHead(stream) + this.#writeBody(stream);
    if (stream.isClosed || (stream.pending.length === 0 && !stream.isEnding)) return written;
    // A stream whose window is used up continues when the client has widened it.
    if (stream.sendWindowBytes <= 0) return written;
    if (this.#windowBytes <= 0) this.#blocked.add(stream);
    else this.#enqueue(stream);
    return written;
  }

  /** Writes the head, and a short body with it. A long body takes turns with other streams. Returns the number of written bytes. */
  #writeHead(stream: Http2Stream): number {
    const { unsentHead: head, unsentBody: body } = stream;
    if (head === undefined) return 0;
    stream.unsentHead = undefined;
    stream.unsentBody = undefined;
    const isEnd = stream.isEnding && body === undefined && stream.pending.length === 0;
    let written: number;
    try {
      written = writer.headers(head, { streamId: stream.id, isEnd, isFirst: this.#isFirstHead });
    } catch {
      writer.frame(resetFrame(stream.id, errorCodes.internalError));
      this.#onAnswered(stream);
      return 0;
    }
    this.#isFirstHead = false;
    if (isEnd) this.#onAnswered(stream);
    if (body === undefined) return written;
    const { content, byteLength } = body;
    if (byteLength > Math.min(maximumFrameBytes, stream.sendWindowBytes, this.#windowBytes)) {
      stream.pending.push(typeof content === "string" ? Buffer.from(content) : content);
      return written;
    }
    writer.data(content, { streamId: stream.id, byteLength });
    this.#windowBytes -= byteLength;
    this.#onAnswered(stream);
    return written + byteLength;
  }

  /** Writes a frame. Returns the number of written bytes. */
  #writeBody(stream: Http2Stream): number {
    if (stream.isClosed) return 0;
    const windowBytes = Math.max(0, Math.min(stream.sendWindowBytes, this.#windowBytes));
    const bytes = Math.min(maximumFrameBytes, stream.pending.length, windowBytes);
    const isEnd = stream.isEnding && bytes === stream.pending.length;
    if (bytes === 0 && !isEnd) return 0;
    writer.dataOf(stream, { bytes, isEnd });
    stream.sendWindowBytes -= bytes;
    this.#windowBytes -= bytes;
    if (isEnd) this.#onAnswered(stream);
    return bytes + frameHeaderBytes;
  }
}
