import { bodyTooLarge } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { Http2Stream } from "../../http2/http2-stream.ts";
import type { RequestHead } from "../../http2/request-head.ts";
import { incompleteBody, Exchange } from "./exchange.ts";
import type { RequestBodyReader, ExchangeContext, ExchangeOptions } from "./exchange.ts";
import type { TlsConnection } from "./tls-connection.ts";

interface ServedStream {
  readonly head: RequestHead;
  readonly context: ExchangeContext;
  readonly connection: TlsConnection;
  /** When the request may begin. Undefined: at once. */
  readonly turn: Promise<void> | undefined;
}

/** Answers a stream of HTTP/2. */
export function serveStream(stream: Http2Stream, { head, context, connection, turn }: ServedStream): void {
  const { path, method, headers, isTooLarge } = head;
  if (isTooLarge) return stream.respond({ status: 431, headers: { date: dateNow() } }, undefined);
  // CONNECT has no path, and OPTIONS may have "*".
  if (method === undefined || path?.startsWith("/") !== true)
    stream.respond({ status: 400, headers: { date: dateNow() } }, undefined);
  else new Http2Exchange(stream, { context, connection, method, target: path, headers }).run(turn);
}

class Http2Exchange extends Exchange {
  readonly #stream: Http2Stream;

  constructor(stream: Http2Stream, options: ExchangeOptions) {
    super(options);
    this.#stream = stream;
    stream.onClosed = () => this.closed();
  }

  protected override get declaredBodyBytes(): number | undefined {
    return this.#stream.hasBody ? (this.#stream.contentLength ?? 0) : undefined;
  }

  protected override receiveBody({ maximumBytes, whole, failed }: RequestBodyReader): void {
    this.#stream.readBody({
      maximumBytes,
      whole,
      tooLarge: () => failed(bodyTooLarge(maximumBytes)),
      brokenOff: () => failed(incompleteBody()),
    });
  }

  protected override sendWhole({ status, headers }: HttpResponse, content: Buffer | string): void {
    headers["date"] = dateNow();
    if (status === 204 || status === 304) return this.#stream.respond({ status, headers }, undefined);
    const byteLength = Buffer.byteLength(content);
    headers["content-length"] = String(byteLength);
    const hasBody = this.method !== "HEAD" && byteLength > 0;
    this.#stream.respond({ status, headers }, hasBody ? { content, byteLength } : undefined);
  }

  protected override sendHead({ status, headers }: HttpResponse): void {
    headers["date"] = dateNow();
    this.#stream.startResponse({ status, headers });
  }

  override write(bytes: Uint8Array): void {
    this.#stream.write(bytes);
  }

  override bufferedBytes(): number {
    return this.#stream.pending.length;
  }

  protected override endBody(): void {
    this.#stream.end();
  }

  override destroy(): void {
    this.#stream.cancel();
  }
}

let dateText = "";
let dateSecond = 0;

/** For the Date header (RFC 9110 section 6.6.1). Made once in a second. */
function dateNow(): string {
  const milliseconds = Date.now();
  const second = Math.floor(milliseconds / 1000);
  if (second !== dateSecond) dateText = new Date(milliseconds).toUTCString();
  dateSecond = second;
  return dateText;
}
