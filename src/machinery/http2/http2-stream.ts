import { ByteAccumulator } from "../api/byte-accumulator.ts";
import { noBytes } from "../api/no-bytes.ts";
import type { ResponseHead } from "./frame-writer.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { errorCodes } from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";
import { ReceiveWindow } from "./receive-window.ts";
import type { RequestHead } from "./request-head.ts";

/** The whole body of an answer. */
export interface WholeBody {
  readonly content: string | Buffer;
  /** In UTF-8. */
  readonly byteLength: number;
}

/** Takes the body of a request. One of the three functions is called, once. */
export interface BodyReader {
  readonly maximumBytes: number;
  whole(body: Buffer): void;
  tooLarge(): void;
  /** The stream was closed before. */
  brokenOff(): void;
}

/** What a stream needs of its session. */
export interface StreamSession {
  /** The stream has something to send. */
  schedule(stream: Http2Stream): void;
  /** Received bytes were read: the client may send as many more. */
  take(bytes: number): void;
  /** The client may send so many more bytes of this stream's body. */
  widen(stream: Http2Stream, bytes: number): void;
  /** Tells the client to send the body. */
  askForBody(stream: Http2Stream): void;
  reset(stream: Http2Stream, code: ErrorCode): void;
  /** The same for a request that nobody has taken. Throws a ConnectionError when the client has sent too many of them. */
  refuse(stream: Http2Stream): void;
}

interface Http2StreamOptions {
  readonly id: number;
  /** The stream does not keep it: its fields would take memory until the client has read the answer. */
  readonly head: RequestHead;
  readonly hasBody: boolean;
  readonly sendWindowBytes: number;
}

/**
 * One request and its answer. Methods that send only queue: the connection writes what all its streams have queued together, once for
 * each turn of the event loop. On a closed stream they do nothing.
 */
export class Http2Stream {
  readonly id: number;
  readonly #session: StreamSession;
  isClosed = false;
  /** Called once, however the stream ended. */
  onClosed: (() => void) | undefined;

  /** The request has a body, which may be empty. */
  readonly hasBody: boolean;
  /** As the client said it. */
  readonly contentLength: number | undefined;
  readonly #expectsContinue: boolean;
  isRequestWhole: boolean;
  readonly #receiveWindow = new ReceiveWindow();
  /** How many bytes of the body have come, without padding. */
  #receivedBytes = 0;
  /** Bytes of frames that came before the body was read. */
  unreadFrameBytes = 0;
  #body: ByteAccumulator | undefined;
  #reader: BodyReader | undefined;

  sendWindowBytes: number;
  /** The head that is not written yet. */
  unsentHead: ResponseHead | undefined;
  unsentBody: WholeBody | undefined;
  /** The bytes that wait for the client's window or for the connection. */
  readonly pending = new PendingBytes();
  /** Whether nothing follows the queued bytes. */
  isEnding = false;
  #isContinuing = false;
  /** Whether the stream waits for its turn to write. */
  isScheduled = false;

  constructor(session: StreamSession, { id, head, hasBody, sendWindowBytes }: Http2StreamOptions) {
    this.#session = session;
    this.id = id;
    this.contentLength = head.contentLength;
    this.#expectsContinue = head.expectsContinue;
    this.hasBody = hasBody;
    this.isRequestWhole = !hasBody;
    this.sendWindowBytes = sendWindowBytes;
  }

  /** Whether the client has got the head of an answer that has no end yet, such as a watch. */
  get hasBegunAnswer(): boolean {
    return this.#isContinuing && this.unsentHead === undefined;
  }

  /** Reads the whole body. Before this, the client can send no more than a window of it. Call it once. */
  readBody(reader: BodyReader): void {
    if (this.isClosed) return reader.brokenOff();
    this.#reader = reader;
    if (this.#expectsContinue && this.#receivedBytes === 0 && !this.isRequestWhole) this.#session.askForBody(this);
    const frameBytes = this.unreadFrameBytes;
    this.unreadFrameBytes = 0;
    this.#take(frameBytes);
    this.#checkBody(reader);
  }

  /**
   * Called by the session: a part of the body has come. Returns what is wrong with it, and then does nothing else (RFC 9113 sections
   * 5.1, 6.9.1 and 8.1.1).
   */
  receive(
    part: Buffer,
    { frameBytes, isEnd }: { readonly frameBytes: number; readonly isEnd: boolean },
  ): ErrorCode | undefined {
    if (this.isRequestWhole) return errorCodes.streamClosed;
    if (!this.#receiveWindow.receive(frameBytes)) return errorCodes.flowControlError;
    const receivedBytes = this.#receivedBytes + part.length;
    const { contentLength = isEnd ? receivedBytes : Infinity } = this;
    if (receivedBytes > contentLength || (isEnd && receivedBytes < contentLength)) return errorCodes.protocolError;
    this.#receivedBytes = receivedBytes;
    this.isRequestWhole = isEnd;
    // Nobody reads the body of a request that is answered, and one byte can keep all in memory that came with it.
    if (part.length > 0 && !this.isEnding) (this.#body ??= new ByteAccumulator()).add(part);
    const reader = this.#reader;
    if (reader === undefined) this.unreadFrameBytes += frameBytes;
    else {
      this.#take(frameBytes);
      this.#checkBody(reader);
    }
    return undefined;
  }

  #take(frameBytes: number): void {
    this.#session.take(frameBytes);
    const widenedBy = this.#receiveWindow.take(frameBytes);
    if (widenedBy > 0 && !this.isRequestWhole) this.#session.widen(this, widenedBy);
  }

  #checkBody(reader: BodyReader): void {
    const isTooLarge = this.#receivedBytes > reader.maximumBytes;
    if (!isTooLarge && !this.isRequestWhole) return;
    const body = this.#body?.take() ?? noBytes;
    this.#body = undefined;
    // From here on, the client can send no more than another window.
    this.#reader = undefined;
    if (isTooLarge) reader.tooLarge();
    else reader.whole(body);
  }

  /** Sends a whole answer. Undefined: it has no body. */
  respond(head: ResponseHead, body: WholeBody | undefined): void {
    if (this.isClosed) return;
    this.#body = undefined;
    this.unsentHead = head;
    this.unsentBody = body;
    this.isEnding = true;
    this.#session.schedule(this);
  }

  /** Sends the head of an answer whose body follows by `write` and `end`. */
  startResponse(head: ResponseHead): void {
    if (this.isClosed) return;
    this.#isContinuing = true;
    this.unsentHead = head;
    this.#session.schedule(this);
  }

  /** The bytes must not change any more: several streams may share them. */
  write(bytes: Uint8Array): void {
    if (this.isClosed || this.isEnding || bytes.length === 0) return;
    this.pending.push(bytes);
    this.#session.schedule(this);
  }

  end(): void {
    if (this.isClosed || this.isEnding) return;
    this.isEnding = true;
    this.#session.schedule(this);
  }

  /** Ends the stream at once, half answered as it may be. */
  cancel(): void {
    this.#session.reset(this, errorCodes.cancel);
  }

  /**
   * Nobody has taken the request, so its client may send it again (RFC 9113 section 8.7). Call it when the request comes, or not at
   * all.
   */
  refuse(): void {
    this.#session.refuse(this);
  }

  /** Called by the session, once: nothing more comes or goes. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#body = undefined;
    this.unsentHead = undefined;
    this.unsentBody = undefined;
    this.pending.clear();
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.brokenOff();
    this.onClosed?.();
  }
}
