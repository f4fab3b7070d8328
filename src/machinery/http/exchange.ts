import { timeout } from "../api/api-error.ts";
import type {
  ByteSink,
  Connection,
  Handler,
  Headers,
  HttpRequest,
  HttpResponse,
  StreamBody,
} from "../api/http-message.ts";
import { errorResponse } from "./response.ts";

/** What all exchanges of a listener share. */
export interface ExchangeContext {
  readonly handler: Handler;
  readonly maximumBodyBytes: number;
  /** Exchanges that have not ended, oldest first. */
  readonly open: Set<Exchange>;
  /** Seconds since the listener began, counted by its sweep: a clock that costs nothing to read. */
  readonly tick: { seconds: number };
}

export interface ExchangeOptions {
  readonly context: ExchangeContext;
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly headers: Headers;
  readonly connection: Connection;
}

export const noBytes: Buffer = Buffer.alloc(0);

/**
 * One request and its answer on the wire: what HTTP/2 streams and HTTP/1.1 messages have in common. The protocol's own part
 * calls `run` once and `closed` once, whichever way it ended.
 */
export abstract class Exchange implements HttpRequest, ByteSink {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly connection: Connection;
  readonly startedAtSecond: number;
  protected readonly context: ExchangeContext;
  #abortController: AbortController | undefined;
  #isClosed = false;
  #isExpired = false;
  #hasAnswered = false;
  /** Set while a body is written over time. */
  #stopStream: (() => void) | undefined;
  #isStream = false;

  constructor({ context, method, target, headers, connection }: ExchangeOptions) {
    const queryAt = target.indexOf("?");
    this.context = context;
    this.method = method;
    this.path = queryAt < 0 ? target : target.slice(0, queryAt);
    this.query = queryAt < 0 ? "" : target.slice(queryAt + 1);
    this.headers = headers;
    this.connection = connection;
    this.startedAtSecond = context.tick.seconds;
  }

  abstract readBody(): Promise<Buffer>;
  abstract write(bytes: Uint8Array): void;
  abstract bufferedBytes(): number;
  /** Sends the head, and the body when it is whole. */
  protected abstract sendWhole(response: HttpResponse, body: Buffer | string): void;
  protected abstract sendHead(response: HttpResponse): void;
  protected abstract endBody(): void;
  /** Ends the exchange at once, half-sent answers too. */
  abstract destroy(): void;

  /** Made only for those who look at it: most requests never do. */
  get signal(): AbortSignal {
    this.#abortController ??= new AbortController();
    if (this.#isClosed || this.#isExpired) this.#abortController.abort();
    return this.#abortController.signal;
  }

  /** A watch has no deadline. */
  get isStream(): boolean {
    return this.#isStream;
  }

  run(): void {
    this.context.open.add(this);
    this.context.handler(this).then(
      (response) => this.#tryToAnswer(response),
      // A handler never rejects. Were it to, its client would wait in vain, and the process would end.
      () => this.destroy(),
    );
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
    if (this.#isClosed || this.#hasAnswered) return;
    this.#hasAnswered = true;
    const { body } = response;
    if (typeof body === "string" || Buffer.isBuffer(body)) this.sendWhole(response, body);
    else this.#startStream(response, body);
  }

  #startStream(response: HttpResponse, body: StreamBody): void {
    this.#isStream = true;
    this.sendHead(response);
    const stop = body.start(this);
    if (this.#isClosed) stop();
    else this.#stopStream = stop;
  }

  end(): void {
    this.#stop();
    if (!this.#isClosed) this.endBody();
  }

  /** The deadline has passed: whoever works on it is told, the client gets a 504 if it had no answer. */
  expire(): void {
    this.#isExpired = true;
    this.#abortController?.abort();
    if (this.#hasAnswered) return this.destroy();
    this.#tryToAnswer(errorResponse(timeout("Timeout: request did not complete within the allotted timeout"), this));
  }

  /** The wire is done with it. */
  protected closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.context.open.delete(this);
    this.#stop();
    this.#abortController?.abort();
  }

  #stop(): void {
    const stop = this.#stopStream;
    this.#stopStream = undefined;
    stop?.();
  }
}
