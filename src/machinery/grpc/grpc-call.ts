import { shortened } from "../api/text/format-value.ts";
import { percentDecoded } from "../api/text/percent-decoded.ts";
import { messageOf } from "../api/thrown-error.ts";
import type { ClientExchange, Http2ClientStream, StreamFailure } from "../http2/http2-client-stream.ts";
import { GrpcError, unavailable } from "./grpc-error.ts";
import { encodeFrame, FrameReader } from "./grpc-frames.ts";

/** Receives the messages of one call in order, then once its end (undefined: success). */
export interface CallObserver {
  /** A longer message ends the call with AnswerTooLong. Default: the limit of the channel. */
  readonly maximumMessageBytes?: number;
  /** Called when a part of a message has arrived. */
  onPart?(): void;
  onMessage(message: Buffer): void;
  onEnd(error: GrpcError | undefined): void;
}

export interface Call {
  send(message: Uint8Array): void;
  /** Says that no more messages will be sent. */
  end(): void;
  /** Lets the other side send no more than its window. */
  pause(): void;
  /** Lets the other side continue. */
  resume(): void;
  /** Ends the call. No callback runs afterwards. */
  cancel(): void;
}

/** Longer messages of the server are cut, because logs and answers to clients quote them. */
const maximumMessageCharacters = 500;

interface GrpcCallOptions {
  readonly url: string;
  readonly observer: CallObserver;
  readonly maximumMessageBytes: number;
  readonly open: (exchange: ClientExchange) => Http2ClientStream;
}

/** One call, as a stream of HTTP/2. */
export class GrpcCall implements Call, ClientExchange {
  readonly #url: string;
  readonly #observer: CallObserver;
  readonly #frames: FrameReader;
  readonly #stream: Http2ClientStream;
  #isEnded = false;
  #httpStatus = "200";
  #status: string | undefined;
  #message: string | undefined;

  constructor({ url, observer, maximumMessageBytes, open }: GrpcCallOptions) {
    this.#url = url;
    this.#observer = observer;
    this.#frames = new FrameReader(maximumMessageBytes);
    this.#stream = open(this);
  }

  send(message: Uint8Array): void {
    this.#stream.write(encodeFrame(message));
  }

  end(): void {
    this.#stream.end();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(): void {
    this.#isEnded = true;
    this.#stream.cancel();
  }

  add(name: string, value: string): void {
    if (name === "grpc-status") this.#status = value;
    else if (name === "grpc-message") this.#message = value;
    else if (name === ":status") this.#httpStatus = value;
  }

  addInvalid(): void {
    // No field with invalid characters is used.
  }

  onData(data: Buffer): void {
    if (this.#isEnded) return;
    if (this.#httpStatus !== "200") {
      // The body is the page of a proxy that does not reach the server.
      this.#stream.cancel();
      return this.#finish(this.#errorAfter(undefined));
    }
    this.#observer.onPart?.();
    try {
      for (const message of this.#frames.push(data)) if (!this.#isEnded) this.#observer.onMessage(message);
    } catch (error) {
      this.#stream.cancel();
      this.#finish(
        error instanceof GrpcError ? error : unavailable(messageOf(error), { mayHaveRun: true, cause: error }),
      );
    }
  }

  onEnd(failure: StreamFailure | undefined): void {
    this.#finish(this.#status === "0" ? undefined : this.#errorAfter(failure));
  }

  #finish(error: GrpcError | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#observer.onEnd(error);
  }

  #errorAfter(failure: StreamFailure | undefined): GrpcError {
    const url = this.#url;
    if (this.#status !== undefined) {
      const said = this.#message === undefined ? `status ${this.#status}` : percentDecoded(this.#message);
      const message = shortened(said, maximumMessageCharacters);
      return new GrpcError(message, { code: Number(this.#status), mayHaveRun: true });
    }
    if (this.#httpStatus !== "200")
      return unavailable(`${url} answered with HTTP status ${this.#httpStatus}`, { mayHaveRun: true });
    if (failure === undefined) return unavailable(`${url} answered without a status`, { mayHaveRun: true });
    const { cause, isUnprocessed } = failure;
    return unavailable(`the connection to ${url} was lost: ${cause.message}`, { mayHaveRun: !isUnprocessed, cause });
  }
}
