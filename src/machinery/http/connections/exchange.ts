import { badRequest, bodyTooLarge, timeout } from "../../api/api-error.ts";
import type { ApiError } from "../../api/api-error.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import type { ByteSink, Handler, Headers, HttpRequest, HttpResponse, StreamBody } from "../../api/http-message.ts";
import { isWholeBody } from "../../api/is-whole-body.ts";
import { errorResponse } from "../response.ts";
import { StreamSink } from "./stream-sink.ts";
import type { TlsConnection } from "./tls-connection.ts";
import type { UnsentAnswers } from "./unsent-answers.ts";

/** Shared by all exchanges of a listener. */
export interface ExchangeContext {
  readonly handler: Handler;
  readonly maximumBodyBytes: number;
  /** Exchanges that have not ended, oldest first. */
  readonly open: Set<Exchange>;
  readonly unsent: UnsentAnswers;
  /** Seconds since the listener started, counted by its sweep. This clock is free to read. */
  readonly tick: { seconds: number };
  /** Whether the listener is closing, which is then the reason why streams end. */
  isClosing: boolean;
}

export interface ExchangeOptions {
  readonly context: ExchangeContext;
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Headers;
  readonly connection: TlsConnection;
}

/** The receiver of a request's body. */
export interface RequestBodyReader {
  readonly maximumBytes: number;
  readonly whole: (body: Buffer) => void;
  /** May also be called after `whole`. */
  readonly failed: (reason: Error) => void;
}

const noHeaders: Headers = {};

/** Discards the bytes of a stream whose client disconnected before the stream began. */
const discardingSink: ByteSink = { write: () => {}, bufferedBytes: () => 0, end: () => {} };

/** URLSearchParams takes away a `?` at the start of a query. In Go, it belongs to the name of the first parameter. */
const withEscapedMark = (query: string): string => (query.startsWith("?") ? `%3F${query.slice(1)}` : query);

/**
 * One request and its answer on the wire: the common part of HTTP/2 streams and HTTP/1.1 messages. The protocol's own
 * part calls `run` once, and `closed` once however it ended.
 */
export abstract class Exchange implements HttpRequest, ByteSink {
  readonly method: string;
  path: string;
  query: string;
  headers: Headers;
  readonly connection: TlsConnection;
  /** The second in which its deadline begins to run. */
  startedAtSecond: number;
  protected readonly context: ExchangeContext;
  /** Set when the reading of the body begins: ends the wait for its rest. Does nothing once the body is complete. */
  protected failBody: ((reason: Error) => void) | undefined;
  #abortController: AbortController | undefined;
  #isClosed = false;
  #isExpired = false;
  #hasAnswered = false;
  /** Set while a streaming body is written. */
  #stopStream: (() => void) | undefined;
  #streamSink: StreamSink | undefined;
  #isEnded = false;

  constructor({ context, method, target, headers, connection }: ExchangeOptions) {
    const queryAt = target.indexOf("?");
    this.context = context;
    this.method = method;
    this.path = queryAt < 0 ? target : target.slice(0, queryAt);
    this.query = queryAt < 0 ? "" : withEscapedMark(target.slice(queryAt + 1));
    this.headers = headers;
    this.connection = connection;
    connection.openExchanges++;
    this.startedAtSecond = context.tick.seconds;
  }

  abstract write(bytes: Uint8Array): void;
  abstract bufferedBytes(): number;
  /** Sends the head, and the body when it is complete. */
  protected abstract sendWhole(response: HttpResponse, body: Buffer | string): void;
  protected abstract sendHead(response: HttpResponse): void;
  protected abstract endBody(): void;
  /** Ends the exchange immediately, even when the answer is half sent. */
  abstract destroy(): void;

  /** The length of the body that the head declares, in bytes. 0: the head does not say it. Undefined: the request has no body. */
  protected get declaredBodyBytes(): number | undefined {
    return undefined;
  }

  /** Reads the body. Called at most once, and only for requests with a body. */
  protected receiveBody(_reader: RequestBodyReader): void {}

  readBody(lowerMaximumBytes = Infinity): Promise<Buffer> {
    const bytes = this.declaredBodyBytes;
    if (bytes === undefined) return Promise.resolve(noBytes);
    if (this.#isExpired) return Promise.reject(deadlinePassed());
    if (this.#isClosed) return Promise.reject(incompleteBody());
    const maximumBytes = Math.min(lowerMaximumBytes, this.context.maximumBodyBytes);
    if (bytes > maximumBytes) return Promise.reject(bodyTooLarge(maximumBytes));
    return new Promise((whole, failed) => {
      this.failBody = failed;
      this.receiveBody({ maximumBytes, whole, failed });
    });
  }

  /** Created on first use: most requests never read it. */
  get signal(): AbortSignal {
    this.#abortController ??= new AbortController();
    if (this.#isClosed || this.#isExpired) this.#abortController.abort(aborted);
    return this.#abortController.signal;
  }

  get isStream(): boolean {
    return this.#streamSink !== undefined;
  }

  /** An open watch has no deadline. */
  get hasDeadline(): boolean {
    return !this.isStream || this.#isEnded;
  }

  /** The last second in which the client read from its stream, or had read everything. Call it every second. */
  readAtSecond(nowSecond: number): number {
    return this.#streamSink?.readAtSecond(nowSecond) ?? nowSecond;
  }

  /** Asks the handler for the answer, at once or when `turn` resolves. */
  run(turn?: Promise<void>): void {
    this.context.open.add(this);
    if (turn === undefined) this.#handle();
    else void turn.then(() => this.#isClosed || this.#isExpired || this.#handle());
  }

  #handle(): void {
    this.context.handler(this).then(
      (response) => {
        this.#tryToAnswer(response);
        if (isWholeBody(response.body)) this.#forgetRequest();
      },
      // A handler never rejects. If one does, close the exchange: otherwise the client waits forever and the process
      // exits.
      () => this.destroy(),
    );
  }

  /** Called when the handler has finished: a request must not stay in memory until its client has read the answer. */
  #forgetRequest(): void {
    this.path = "";
    this.query = "";
    this.headers = noHeaders;
  }

  /** An answer that cannot be sent ends its exchange, not the process. */
  #tryToAnswer(response: HttpResponse): void {
    try {
      this.#answer(response);
    } catch {
      this.destroy();
    }
  }

  #answer(response: HttpResponse): void {
    const { body } = response;
    if (this.#isClosed || this.#hasAnswered) {
      // The stream must be started and stopped once, also when no client is left to read it.
      if (!isWholeBody(body)) body.start(discardingSink)();
      return;
    }
    this.#hasAnswered = true;
    if (isWholeBody(body)) {
      this.context.unsent.add(this, { headers: response.headers, body });
      this.sendWhole(response, body);
    } else this.#startStream(response, body);
  }

  #startStream(response: HttpResponse, body: StreamBody): void {
    const sink = new StreamSink(this, this.context.tick.seconds);
    this.#streamSink = sink;
    this.sendHead(response);
    const stop = body.start(sink);
    if (this.#isClosed) return stop();
    this.#stopStream = stop;
    // The listener has already ended the other streams.
    if (this.context.isClosing) this.end();
  }

  end(): void {
    this.#stop();
    if (this.#isClosed || this.#isEnded) return;
    this.#isEnded = true;
    // The bytes that a slow client has not read are in memory, so it has a deadline from now on. `open` has the oldest exchange first.
    this.startedAtSecond = this.context.tick.seconds;
    this.context.open.delete(this);
    this.context.open.add(this);
    this.endBody();
  }

  /** The deadline has passed: aborts the signal, and sends a 504 if there was no answer yet. */
  expire(): void {
    this.#isExpired = true;
    this.#abortController?.abort(aborted);
    if (this.#hasAnswered) return this.destroy();
    const error = deadlinePassed();
    this.failBody?.(error);
    this.#tryToAnswer(errorResponse(error, this));
  }

  /** Called when the connection has finished with this exchange. */
  protected closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.connection.openExchanges--;
    this.connection.activeAtSecond = this.context.tick.seconds;
    this.context.open.delete(this);
    this.context.unsent.remove(this);
    this.#stop();
    // A complete answer leaves no work to abort.
    if (!this.#hasAnswered || this.isStream) this.#abortController?.abort(aborted);
  }

  #stop(): void {
    const stop = this.#stopStream;
    this.#stopStream = undefined;
    stop?.();
  }
}

/** The reason of every abort. Its stack takes long to make, and thousands of watches may end at once. */
const aborted = new DOMException("This operation was aborted", "AbortError");

const deadlinePassed = (): ApiError => timeout("Timeout: request did not complete within the allotted timeout");

/** The client disconnected before it had sent its whole request. */
export const incompleteBody = (): Error => badRequest("the request's body broke off");
