import type { HttpResponse } from "../api/http-message.ts";
import type { Http2Stream, StreamObserver } from "../http2/http2-stream.ts";
import { bodyBrokeOff, bodyTooLarge, Exchange, noBytes } from "./exchange.ts";
import type { ExchangeContext, ExchangeOptions } from "./exchange.ts";
import type { TlsConnection } from "./tls-connection.ts";

/** Answers a stream of HTTP/2. */
export function serveStream(stream: Http2Stream, connection: TlsConnection, context: ExchangeContext): void {
  const { path, method } = stream.head;
  // CONNECT has no path, and OPTIONS may have "*".
  if (method === undefined || path?.startsWith("/") !== true) stream.respond({ status: 400, headers: {} }, undefined);
  else new Http2Exchange(stream, { context, connection, method, target: path, headers: stream.head.headers }).run();
}

interface Http2ExchangeOptions extends ExchangeOptions {
  readonly connection: TlsConnection;
}

class Http2Exchange extends Exchange implements StreamObserver {
  readonly #stream: Http2Stream;
  readonly #tlsConnection: TlsConnection;
  #body: BodyCollector | undefined;

  constructor(stream: Http2Stream, options: Http2ExchangeOptions) {
    super(options);
    this.#stream = stream;
    this.#tlsConnection = options.connection;
    this.#tlsConnection.openExchanges++;
    stream.observer = this;
  }

  readBody(): Promise<Buffer> {
    const stream = this.#stream;
    if (!stream.hasBody) return Promise.resolve(noBytes);
    const { maximumBodyBytes } = this.context;
    if ((stream.head.contentLength ?? 0) > maximumBodyBytes) return Promise.reject(bodyTooLarge(maximumBodyBytes));
    if (stream.isClosed) return Promise.reject(bodyBrokeOff());
    return new Promise((resolve, reject) => {
      this.#body = { chunks: [], length: 0, resolve, reject };
      stream.readBody();
    });
  }

  bodyData(bytes: Buffer): void {
    const body = this.#body;
    if (body === undefined) return;
    body.length += bytes.length;
    body.chunks.push(bytes);
    if (body.length <= this.context.maximumBodyBytes) return;
    this.#stream.stopReading();
    this.#body = undefined;
    body.reject(bodyTooLarge(this.context.maximumBodyBytes));
  }

  bodyEnded(): void {
    const body = this.#body;
    if (body === undefined) return;
    this.#body = undefined;
    body.resolve(body.chunks.length === 1 ? (body.chunks[0] ?? noBytes) : Buffer.concat(body.chunks, body.length));
  }

  override closed(): void {
    this.#tlsConnection.openExchanges--;
    this.#tlsConnection.activeAtSecond = this.context.tick.seconds;
    this.#body?.reject(bodyBrokeOff());
    this.#body = undefined;
    super.closed();
  }

  protected override sendWhole({ status, headers }: HttpResponse, content: Buffer | string): void {
    if (this.method === "HEAD" || status === 204 || status === 304)
      return this.#stream.respond({ status, headers }, undefined);
    const byteLength = Buffer.byteLength(content);
    headers["content-length"] = String(byteLength);
    this.#stream.respond({ status, headers }, byteLength === 0 ? undefined : { content, byteLength });
  }

  protected override sendHead({ status, headers }: HttpResponse): void {
    this.#stream.startResponse({ status, headers });
  }

  override write(bytes: Uint8Array): void {
    this.#stream.write(bytes);
  }

  override bufferedBytes(): number {
    return this.#stream.pendingBytes;
  }

  protected override endBody(): void {
    this.#stream.end();
  }

  override destroy(): void {
    this.#stream.cancel();
  }
}

/** A body that is read. */
interface BodyCollector {
  readonly chunks: Buffer[];
  length: number;
  readonly resolve: (body: Buffer) => void;
  readonly reject: (error: Error) => void;
}
