import { constants } from "node:http2";
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { badRequest, tooLarge } from "../api/api-error.ts";
import type { Headers, HttpResponse } from "../api/http-message.ts";
import { Exchange, noBytes } from "./exchange.ts";
import type { ExchangeContext } from "./exchange.ts";
import type { TlsConnection } from "./tls-connection.ts";

/** Answers the streams of a session. */
export function serveSession(session: ServerHttp2Session, connection: TlsConnection, context: ExchangeContext): void {
  session.on(
    "stream",
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
      // A reset or a broken connection: `close` follows and ends the exchange.
      stream.on("error", ignore);
      const { ":path": path, ":method": method } = headers;
      if (path === undefined || method === undefined || !path.startsWith("/")) {
        stream.respond({ ":status": 400 }, { endStream: true });
        return;
      }
      new Http2Exchange(stream, {
        context,
        method,
        target: path,
        headers: withRepeatedHeaders(headers, rawHeaders),
        connection,
      }).run();
    },
  );
}

const ignore = (): void => undefined;

interface Http2ExchangeOptions {
  readonly context: ExchangeContext;
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  readonly connection: TlsConnection;
}

class Http2Exchange extends Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly #tlsConnection: TlsConnection;

  constructor(stream: ServerHttp2Stream, options: Http2ExchangeOptions) {
    super(options);
    this.#stream = stream;
    this.#tlsConnection = options.connection;
    this.#tlsConnection.openExchanges++;
    // once: a closed stream stays in memory until the next full garbage collection, and must not hold its exchange.
    stream.once("close", () => {
      this.#tlsConnection.openExchanges--;
      this.#tlsConnection.activeAtSecond = this.context.tick.seconds;
      this.closed();
    });
  }

  readBody(): Promise<Buffer> {
    const stream = this.#stream;
    if (stream.endAfterHeaders) return Promise.resolve(noBytes);
    const { maximumBodyBytes } = this.context;
    if (Number(this.headers["content-length"]) > maximumBodyBytes)
      return Promise.reject(bodyTooLarge(maximumBodyBytes));
    // Nothing more would be heard of it.
    if (stream.destroyed) return Promise.reject(bodyBrokeOff());
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = [];
      let length = 0;
      stream.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maximumBodyBytes) {
          stream.pause();
          reject(bodyTooLarge(maximumBodyBytes));
        } else chunks.push(chunk);
      });
      stream.on("end", () => {
        resolve(chunks.length === 1 ? (chunks[0] ?? noBytes) : Buffer.concat(chunks, length));
        chunks = [];
      });
      stream.on("close", () => {
        if (!stream.readableEnded) reject(bodyBrokeOff());
      });
    });
  }

  protected override sendWhole(response: HttpResponse, body: Buffer | string): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    const headers = this.#head(response);
    if (this.method === "HEAD" || response.status === 204 || response.status === 304) {
      stream.respond(headers, { endStream: true });
    } else {
      headers["content-length"] = String(Buffer.byteLength(body));
      stream.respond(headers);
      if (body.length <= pieceBytes) stream.end(body);
      else endInPieces(stream, Buffer.isBuffer(body) ? body : Buffer.from(body));
    }
    this.#leaveBody();
  }

  protected override sendHead(response: HttpResponse): void {
    if (this.#stream.destroyed) return;
    this.#stream.respond(this.#head(response));
    this.#leaveBody();
  }

  #head(response: HttpResponse): Record<string, string | string[] | number> {
    const headers: Record<string, string | string[] | number> = response.headers;
    headers[":status"] = response.status;
    return headers;
  }

  /**
   * A stream ends only when both sides have ended. Do not wait for the rest of the request's body. The end of a request
   * without a body stays unread on purpose: Node.js reads it when the stream closes, after the last write. Reading it
   * earlier would destroy each stream with a write in progress, and that creates an Error with a stack trace every
   * time.
   */
  #leaveBody(): void {
    const stream = this.#stream;
    if (!stream.endAfterHeaders && !stream.readableEnded && !this.isStream)
      stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  }

  override write(bytes: Uint8Array): void {
    if (this.#stream.writable) this.#stream.write(bytes);
  }

  override bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  protected override endBody(): void {
    this.#stream.end();
  }

  override destroy(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

const pieceBytes = 1024 * 1024;

/**
 * Node.js counts what it was given to send as memory of the connection, and refuses new streams when there is too much
 * (`maxSessionMemory`): a client that reads a long list could ask for nothing else.
 */
function endInPieces(stream: ServerHttp2Stream, body: Buffer): void {
  let at = 0;
  const next = (): void => {
    const piece = body.subarray(at, at + pieceBytes);
    at += piece.length;
    if (at >= body.length) stream.end(piece);
    else stream.write(piece, (error) => error ?? next());
  };
  next();
}

/** The client left before its request was whole. */
export const bodyBrokeOff = (): Error => badRequest("the request's body broke off");

export const bodyTooLarge = (maximumBodyBytes: number): Error =>
  tooLarge(`Request entity too large: limit is ${maximumBodyBytes}`);

/**
 * Node.js joins repeated headers with commas, and these look like commas inside a value. This returns arrays instead.
 */
function withRepeatedHeaders(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): Headers {
  return Object.keys(headers).length * 2 === rawHeaders.length ? headers : headersOf(rawHeaders);
}

/** Parses raw headers: names in lower case, repeated headers as arrays in order of arrival. */
export function headersOf(rawHeaders: readonly string[]): Headers {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const value = rawHeaders[at + 1] ?? "";
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (typeof known === "string") headers[name] = [known, value];
    else known.push(value);
  }
  return headers;
}
