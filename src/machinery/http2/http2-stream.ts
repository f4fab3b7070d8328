import { ByteAccumulator } from "../api/bytes/byte-accumulator.ts";
import { noBytes } from "../api/bytes/no-bytes.ts";
import type { ResponseHead } from "./frame-writer.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { errorCodes } from "./protocol.ts";
import type { ErrorCode } from "./protocol.ts";
import { ReceiveWindow } from "./receive-window.ts";
import type { RequestHead } from "./request-head.ts";

/** The whole body of an answer. */
export interface WholeBody {
  readonly content: string | Buffer;
  /** The length of the content in UTF-8. */
  readonly byteLength: number;
}

/** Takes the body of a request. One of the three functions is called, once. */
export interface BodyReader {
  readonly maximumBytes: number;
  whole(body: Buffer): void;
  tooLarge(): void;
  /** Called when the stream was closed before the body was complete. */
  brokenOff(): void;
}

/** What a stream needs of its session. */
export interface StreamSession {
  /** Called when the stream has something to send. */
  schedule(stream: Http2Stream): void;
  /** Called when received bytes were read: the client may send as many more on the connection. */
  consume(bytes: number): void;
  /** Lets the client send so many more bytes of this stream's body. */
  widen(stream: Http2Stream, bytes: number): void;
  /** Tells the client to send the body. */
  askForBody(stream: Http2Stream): void;
  reset(stream: Http2Stream, code: ErrorCode): void;
  /** Resets the stream of a request that was not processed. Throws a ConnectionError when the client has sent too many of these. */
  refuse(stream: Http2Stream): void;
}

interface Http2StreamOptions {
  readonly id: number;
  /** The stream does not keep the head, whose fields would take memory until the client has read the answer. */
  readonly head: RequestHead;
  readonly hasBody: boolean;
  readonly sendWindowBytes: number;
}

/**
 * One request and its answer. Methods that send only add to a queue: once in each turn of the event loop, the connection writes what all
 * its streams have queued. On a closed stream these methods do nothing.
 */
export class Http2Stream {
  readonly id: number;
  readonly #session: StreamSession;
  isClosed = false;
  /** Called once, however the stream ended. */
  onClosed: (() => void) | undefined;

  /** Whether the request has a body, which may be empty. */
  readonly hasBody: boolean;
  /** The length of the body that the client has declared, in bytes. */
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

  /** Whether the head is sent of an answer that is not complete, such as a watch. */
  get hasBegunAnswer(): boolean {
    return this.#isContinuing && this.unsentHead === undefined;
  }

  /** Reads the whole body. Before this call, the client can send no more than the window. Call it once. */
  readBody(reader: BodyReader): void {
    if (this.isClosed) return reader.brokenOff();
    this.#reader = reader;
    if (this.#expectsContinue && this.#receivedBytes === 0 && !this.isRequestWhole) this.#session.askForBody(this);
    const frameBytes = this.unreadFrameBytes;
    this.unreadFrameBytes = 0;
    this.#consume(frameBytes);
    this.#checkBody(reader);
  }

  /**
   * Called by the session with a received part of the body. Returns the code of a fault (RFC 9113 sections 5.1, 6.9.1 and 8.1.1), and then
   * does nothing else.
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
    // Nobody reads the body of an answered request, and one byte of it can keep all bytes of the same read in memory.
    if (part.length > 0 && !this.isEnding) (this.#body ??= new ByteAccumulator()).add(part);
    const reader = this.#reader;
    if (reader === undefined) this.unreadFrameBytes += frameBytes;
    else {
      this.#consume(frameBytes);
      this.#checkBody(reader);
    }
    return undefined;
  }

  #consume(frameBytes: number): void {
    this.#session.consume(frameBytes);
    const widenedBy = this.#receiveWindow.consume(frameBytes);
    if (widenedBy > 0 && !this.isRequestWhole) this.#session.widen(this, widenedBy);
  }

  #checkBody(reader: BodyReader): void {
    const isTooLarge = this.#receivedBytes > reader.maximumBytes;
    if (!isTooLarge && !this.isRequestWhole) return;
    const body = this.#body?.take() ?? noBytes;
    this.#body = undefined;
    // From now on, the client can send no more than one more window.
    this.#reader = undefined;
    if (isTooLarge) reader.tooLarge();
    else reader.whole(body);
  }

  /** Sends a whole answer. Undefined: the answer has no body. */
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

  /** Sends the next bytes of a body. They must not change any more, because several streams may share them. */
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

  /** Ends the stream at once, even if only a part of the answer is sent. */
  cancel(): void {
    this.#session.reset(this, errorCodes.cancel);
  }

  /**
   * Refuses the request as not processed, so that its client may send it again (RFC 9113 section 8.7). Call it only directly when the
   * request has come.
   */
  refuse(): void {
    this.#session.refuse(this);
  }

  /** Called by the session when nothing more is sent or received. */
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
