import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { routeMethodNotAllowed, statusOf } from "../../../api/api-error.ts";
import type { HttpResponse } from "../../../api/http-message.ts";
import { Exchange } from "../exchange.ts";
import type { RequestBodyReader, ExchangeContext } from "../exchange.ts";
import { Http1Body } from "./http1-body.ts";
import type { Http1Head } from "./http1-head.ts";
import { pipelinedRequests } from "./pipelined-requests.ts";
import type { TlsConnection } from "../tls-connection.ts";

/** A body of up to so many times the limit is read and dropped: some clients read no answer before they have sent the whole body. */
const droppedBodies = 4;

export interface Http1Request {
  readonly head: Http1Head;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Http1Exchange extends Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #body: Http1Body | undefined;
  #isBroken = false;
  /** The next request of the connection, if it came before this one was answered. */
  #next: Http1Exchange | undefined;

  constructor(
    { head, request, response }: Http1Request,
    { context, connection }: { readonly context: ExchangeContext; readonly connection: TlsConnection },
  ) {
    super({ context, connection, ...head });
    this.#request = request;
    this.#response = response;
    const { "content-length": length = "0", "transfer-encoding": coding } = this.headers;
    if (coding !== undefined || length !== "0")
      this.#body = new Http1Body(request, () => pipelinedRequests(connection, request.socket));
    if (connection.lastExchange instanceof Http1Exchange) connection.lastExchange.#next = this;
    connection.lastExchange = this;
    response.on("close", () => {
      // Once Node.js has handed a connection over, it reports the connection's end only to the first answer.
      if (this.#next !== undefined && request.socket.destroyed) this.#next.#response.destroy();
      if (connection.lastExchange === this) connection.lastExchange = undefined;
      this.closed();
    });
    response.on("error", () => this.destroy());
  }

  protected override get declaredBodyBytes(): number | undefined {
    return this.#body && Number(this.headers["content-length"] ?? 0);
  }

  protected override receiveBody(reader: RequestBodyReader): void {
    this.#body?.read(reader);
  }

  breakOff(): boolean {
    if (this.isStream) return false;
    if (this.#isBroken) return true;
    this.#isBroken = true;
    this.#body?.breakOff();
    // Also when the head was sent already, without `Connection: close`.
    const { socket } = this.#request;
    this.#response.once("finish", () => socket.destroySoon());
    return true;
  }

  protected override sendWhole({ status, headers }: HttpResponse, body: Buffer | string): void {
    const response = this.#response;
    this.#body?.drop();
    if (response.destroyed) return;
    // A 304 has only the length that a 200 would have (RFC 9110 section 8.6).
    if (status !== 304) headers["content-length"] = String(Buffer.byteLength(body));
    if (this.#isLast()) headers["connection"] = "close";
    response.writeHead(status, headers);
    // While earlier answers are not sent, the 100 Continue waits too, and Node.js would put the head of a body of bytes before it.
    if (this.headers["expect"] !== undefined) response.write("", "latin1");
    endWith(response, this.method === "HEAD" ? "" : body);
  }

  protected override sendHead({ status, headers }: HttpResponse): void {
    this.#body?.drop();
    if (this.#response.destroyed) return;
    if (this.#isLast()) headers["connection"] = "close";
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
  }

  /** Whether the connection takes no more requests. */
  #isLast(): boolean {
    const { "content-length": length, "transfer-encoding": coding, upgrade } = this.headers;
    // Node.js drops the bytes behind a request that offers another protocol: the next request, or a part of it.
    if (this.context.isClosing || this.#isBroken || upgrade !== undefined) return true;
    if (this.#request.complete) return false;
    // Node.js reads and drops a body that no handler has begun to read. Closing could lose the answer of a client that still sends.
    const droppedBytes = this.context.maximumBodyBytes * droppedBodies;
    return this.failBody !== undefined || coding !== undefined || Number(length) > droppedBytes;
  }

  override write(bytes: Uint8Array): void {
    if (this.#response.writable) this.#response.write(bytes);
  }

  override bufferedBytes(): number {
    return this.#response.writableLength;
  }

  protected override endBody(): void {
    this.#response.end();
  }

  override destroy(): void {
    this.#request.socket.destroy();
  }
}

/** TLS encrypts each write in one step: a long list in one write would make other requests wait, and be in memory twice. */
const partBytes = 256 * 1024;

/**
 * Sends the body of an answer in parts, as fast as its client reads, and ends the answer. A text is sent as bytes, because Node.js would
 * write the head with it, in the text's encoding, and so encode the octets of headers again.
 */
export function endWith(response: ServerResponse, body: Buffer | string): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  let from = 0;
  const goOn = (): void => {
    while (bytes.length - from > partBytes) {
      const part = bytes.subarray(from, from + partBytes);
      from += partBytes;
      if (!response.write(part)) {
        response.once("drain", goOn);
        return;
      }
    }
    response.end(bytes.subarray(from));
  };
  goOn();
}

/** An error of Node.js's parser. For most faults it includes the bytes that were parsed. */
export interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/**
 * Answers bytes that are not a valid request, and closes the connection. When earlier requests are still unanswered, the invalid bytes
 * get no answer, because the client would take it for the answer to an earlier request. The last of those answers then ends the connection.
 */
export function refuseMalformed(
  error: ParseError,
  { socket, connection }: { readonly socket: Duplex; readonly connection: TlsConnection | undefined },
): void {
  const isGone = !socket.writable || error.code === "ECONNRESET";
  if (isGone || (connection?.openExchanges ?? 0) > 0) {
    if (isGone || connection?.lastExchange?.breakOff() !== true) socket.destroy();
    return;
  }
  const { code, text, contentType, body } = refusalOf(error);
  socket.end(
    `HTTP/1.1 ${code} ${text}\r\nConnection: close\r\nContent-Type: ${contentType}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

interface Refusal {
  readonly code: number;
  /** The reason phrase. */
  readonly text: string;
  readonly contentType: string;
  readonly body: string;
}

function refusalOf(error: ParseError): Refusal {
  switch (error.code ?? "") {
    case "HPE_INVALID_METHOD":
      // The parser knows only a list of methods. Upstream accepts any word, and answers that no resource serves it.
      return /^[A-Z]{1,32} \//.test(error.rawPacket?.toString("latin1", 0, 40) ?? "")
        ? {
            code: 405,
            text: "Method Not Allowed",
            contentType: "application/json",
            body: `${JSON.stringify(statusOf(routeMethodNotAllowed()))}\n`,
          }
        : plainRefusal(400, "Bad Request");
    case "HPE_HEADER_OVERFLOW":
      return plainRefusal(431, "Request Header Fields Too Large");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return plainRefusal(408, "Request Timeout");
    default:
      return plainRefusal(400, "Bad Request");
  }
}

const plainRefusal = (code: number, text: string): Refusal => ({
  code,
  text,
  contentType: "text/plain; charset=utf-8",
  body: `${code} ${text}`,
});
