import type { FieldSink } from "./header-decoder.ts";
import { PendingBytes } from "./pending-bytes.ts";
import type { HeaderFields } from "./request-header-encoder.ts";

/** Why a stream ended before its answer was whole. */
export interface StreamFailure {
  /** Whether the server has certainly not begun the request. */
  readonly isUnprocessed: boolean;
  readonly cause: Error;
}

/** Receives one answer: the fields of its head, its body, and the fields of its trailers, in this order. */
export interface ClientExchange extends FieldSink {
  /** `data` is a view of the received bytes: while it is kept, all of them stay in memory. */
  onData(data: Buffer): void;
  /** Called once. Undefined: the answer is complete. */
  onEnd(failure: StreamFailure | undefined): void;
}

/** What a stream needs of its connection. */
interface StreamConnection {
  /** Called when the stream has something to send. */
  schedule(stream: Http2ClientStream): void;
  cancel(stream: Http2ClientStream): void;
  /** Lets the server send more of the answer, unless the stream is paused. */
  askForMore(stream: Http2ClientStream): void;
}

/** One request and its answer. Methods only queue: the connection writes what all its streams have queued together. */
export class Http2ClientStream {
  readonly fields: HeaderFields;
  readonly exchange: ClientExchange;
  readonly #connection: StreamConnection;
  /** 0 until the head is sent. */
  id = 0;
  isClosed = false;
  readonly pending = new PendingBytes();
  /** Whether nothing more will be written. */
  isEnding = false;
  isEndSent = false;
  /** How many more bytes the server accepts. */
  sendWindowBytes = 0;
  /** Received bytes by which the server's window is not widened yet. */
  consumedBytes = 0;
  isPaused = false;

  constructor(
    connection: StreamConnection,
    { fields, exchange }: { readonly fields: HeaderFields; readonly exchange: ClientExchange },
  ) {
    this.#connection = connection;
    this.fields = fields;
    this.exchange = exchange;
  }

  /** The bytes must not change any more. */
  write(bytes: Uint8Array): void {
    if (this.isClosed || this.isEnding) return;
    this.pending.push(bytes);
    this.#connection.schedule(this);
  }

  end(): void {
    if (this.isClosed || this.isEnding) return;
    this.isEnding = true;
    this.#connection.schedule(this);
  }

  /** Lets the server send no more than the window of the stream. Other streams are not affected. */
  pause(): void {
    this.isPaused = true;
  }

  /** Lets the server continue. */
  resume(): void {
    this.isPaused = false;
    this.#connection.askForMore(this);
  }

  /** Cancels the request. None of its callbacks is called any more. */
  cancel(): void {
    this.#connection.cancel(this);
  }
}
