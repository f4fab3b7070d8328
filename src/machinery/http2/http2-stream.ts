import type { PendingBody, ResponseHead } from "./frame-writer.ts";
import { defaultWindowBytes, errorCodes } from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";
import type { RequestHead } from "./request-head.ts";

/** Hears what happens to a stream. */
export interface StreamObserver {
  /** A part of the request's body, after `readBody` was called. */
  bodyData(bytes: Buffer): void;
  /** The request's body is whole. */
  bodyEnded(): void;
  /** Once, however it ended. */
  closed(): void;
}

/** The whole body of an answer. */
export interface WholeBody {
  readonly content: string | Buffer;
  /** In UTF-8. */
  readonly byteLength: number;
}

/** What a stream needs of its session. */
export interface StreamSession {
  /** The next flush looks at the stream. */
  schedule(stream: Http2Stream): void;
  /** The reader has taken so many bytes of frames. */
  credit(stream: Http2Stream, bytes: number): void;
  reset(stream: Http2Stream, code: ErrorCode): void;
}

/**
 * One request and its answer. Methods that send only queue: the session writes what all its streams have queued in one piece, once
 * for each turn of the event loop. On a closed stream they do nothing.
 */
export class Http2Stream implements PendingBody {
  readonly id: number;
  readonly head: RequestHead;
  readonly #session: StreamSession;
  observer: StreamObserver | undefined;
  isClosed = false;

  /** The request has a body, which may be empty. */
  readonly hasBody: boolean;
  isRequestWhole: boolean;
  receiveWindowBytes = defaultWindowBytes;
  receivedBytes = 0;
  creditBytes = 0;
  #isReading = false;
  /** Parts of the body that came before `readBody`, and the bytes of their frames. */
  #unread: Buffer[] = [];
  unreadFrameBytes = 0;

  sendWindowBytes: number;
  /** The head that is not written yet. */
  unsentHead: ResponseHead | undefined;
  unsentBody: WholeBody | undefined;
  /** Bytes of the body that wait for the client's window or the connection. */
  readonly pending: Uint8Array[] = [];
  /** Those before it are sent. */
  firstPending = 0;
  /** How much of the first one is sent. */
  pendingOffset = 0;
  pendingBytes = 0;
  /** Nothing follows `pending`. */
  isEnding = false;
  isScheduled = false;

  constructor(
    session: StreamSession,
    options: {
      readonly id: number;
      readonly head: RequestHead;
      readonly hasBody: boolean;
      readonly sendWindowBytes: number;
    },
  ) {
    this.#session = session;
    this.id = options.id;
    this.head = options.head;
    this.hasBody = options.hasBody;
    this.isRequestWhole = !options.hasBody;
    this.sendWindowBytes = options.sendWindowBytes;
  }

  /** The observer gets the body: what has come already, at once. Until then the client can send no more than a window. */
  readBody(): void {
    this.#isReading = true;
    const unread = this.#unread;
    this.#unread = [];
    this.#session.credit(this, this.unreadFrameBytes);
    this.unreadFrameBytes = 0;
    for (const bytes of unread) this.observer?.bodyData(bytes);
    if (this.isRequestWhole) this.observer?.bodyEnded();
  }

  /** The client can send no more than another window of the body. */
  stopReading(): void {
    this.#isReading = false;
  }

  receive(bytes: Buffer, frameBytes: number): void {
    this.receivedBytes += bytes.length;
    if (this.#isReading) {
      this.#session.credit(this, frameBytes);
      if (bytes.length > 0) this.observer?.bodyData(bytes);
    } else {
      this.unreadFrameBytes += frameBytes;
      if (bytes.length > 0) this.#unread.push(bytes);
    }
  }

  receiveEnd(): void {
    this.isRequestWhole = true;
    if (this.#isReading) this.observer?.bodyEnded();
  }

  /** Sends a whole answer. Undefined: it has no body. */
  respond(head: ResponseHead, body: WholeBody | undefined): void {
    if (this.isClosed) return;
    this.unsentHead = head;
    this.unsentBody = body;
    this.isEnding = true;
    this.#session.schedule(this);
  }

  /** Sends the head of an answer whose body follows by `write`. */
  startResponse(head: ResponseHead): void {
    if (this.isClosed) return;
    this.unsentHead = head;
    this.#session.schedule(this);
  }

  /** The bytes must not change any more. */
  write(bytes: Uint8Array): void {
    if (this.isClosed || this.isEnding || bytes.length === 0) return;
    this.pending.push(bytes);
    this.pendingBytes += bytes.length;
    this.#session.schedule(this);
  }

  end(): void {
    if (this.isClosed || this.isEnding) return;
    this.isEnding = true;
    this.#session.schedule(this);
  }

  cancel(): void {
    this.#session.reset(this, errorCodes.cancel);
  }

  /** Called by the session alone. */
  close(): void {
    this.isClosed = true;
    this.#unread = [];
    this.unsentHead = undefined;
    this.unsentBody = undefined;
    this.pending.length = 0;
    this.pendingBytes = 0;
    this.observer?.closed();
  }
}
