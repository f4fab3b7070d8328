import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import type { HttpResponse } from "../../../api/http-message.ts";
import { isWholeBody } from "../../../api/is-whole-body.ts";
import { subprotocolsOf } from "../../../api/web-socket-subprotocols.ts";
import { Exchange } from "../exchange.ts";
import type { ExchangeContext } from "../exchange.ts";
import { endWith } from "./http1-exchange.ts";
import type { Http1Request } from "./http1-exchange.ts";
import { pipelinedRequests } from "./pipelined-requests.ts";
import { readInTurns } from "../read-in-turns.ts";
import { takeListener } from "../take-listener.ts";
import type { TlsConnection } from "../tls-connection.ts";

/** Clients have nothing to send but pings and the end. */
const maximumMessageBytes = 4096;
const maximumMessagesPerSecond = 100;
/** A client that does not read gets no more pongs. */
const maximumBufferedPongBytes = 64 * 1024;
/** How long the client may take to answer a close frame. */
const closeTimeoutMilliseconds = 5000;

/** RFC 6455 section 7.4.1. */
const closeCodes = { normal: 1000, goingAway: 1001, policyViolation: 1008 } as const;

/** The options of `ws` for every connection. It closes on frames that are too large (1009) or against the protocol (1002). */
const serverOptions = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  autoPong: false,
  maxPayload: maximumMessageBytes,
  maxFragments: 16,
  closeTimeout: closeTimeoutMilliseconds,
} as const;

/** `response` is for an ordinary answer instead of a WebSocket. The connection ends after it. */
export interface UpgradeRequest extends Http1Request {
  readonly socket: Socket;
  /** What the client has sent after the request. */
  readonly sentAhead: Buffer;
}

/**
 * A request that asks to speak WebSocket (RFC 6455). A stream (a watch) is sent as messages, one for each write. Every other answer, also a
 * refusal, is an ordinary HTTP answer, and ends the connection.
 */
export class WebSocketExchange extends Exchange {
  readonly isWebSocket = true;
  readonly #upgrade: UpgradeRequest;
  #webSocket: WebSocket | undefined;
  #messageType: "text" | "binary" = "text";
  #receivedInSecond = 0;
  #second = 0;
  /** Whether the client broke a rule: what it still sends is dropped. */
  #isRefused = false;

  constructor(
    upgrade: UpgradeRequest,
    { context, connection }: { readonly context: ExchangeContext; readonly connection: TlsConnection },
  ) {
    const { head, socket } = upgrade;
    super({ context, connection, ...head });
    this.#upgrade = upgrade;
    socket.once("close", () => {
      // Discards the waiting bytes, which `ws` would parse.
      socket.read();
      this.closed();
    });
  }

  protected override sendWhole({ status, headers }: HttpResponse, body: Buffer | string): void {
    const { response } = this.#upgrade;
    headers["connection"] = "close";
    headers["content-length"] = String(Buffer.byteLength(body));
    response.writeHead(status, headers);
    endWith(response, body);
  }

  protected override sendHead({ headers, body }: HttpResponse): void {
    const { request, response, socket, sentAhead } = this.#upgrade;
    if (!isWholeBody(body)) this.#messageType = body.messageType ?? "binary";
    response.detachSocket(socket);
    const server = new WebSocketServer({
      ...serverOptions,
      // Chooses the first offer, because a browser fails when none is chosen. As in upstream, no subprotocol changes what is sent.
      handleProtocols: () => subprotocolsOf(this.headers).offered[0] ?? false,
    });
    server.on("headers", (lines) => {
      for (const [name, value] of Object.entries(headers)) {
        for (const one of [value].flat()) lines.push(`${name}: ${one}`);
      }
    });
    server.handleUpgrade(request, socket, sentAhead, (webSocket) => this.#listenTo(webSocket));
  }

  #listenTo(webSocket: WebSocket): void {
    this.#webSocket = webSocket;
    const { socket } = this.#upgrade;
    const parse = takeListener(socket, "data");
    readInTurns(socket, {
      waiting: () => pipelinedRequests(this.connection, socket),
      read: (bytes) => {
        if (!this.#isRefused) parse(bytes);
      },
    });
    webSocket.on("message", () => this.#received());
    webSocket.on("pong", () => this.#received());
    webSocket.on("ping", (data) => {
      this.#received();
      if (webSocket.bufferedAmount < maximumBufferedPongBytes) webSocket.pong(data);
    });
    // After an error, `ws` closes with the close code for this error.
    webSocket.on("error", () => (this.#isRefused = true));
  }

  /** Discards a message of the client, as upstream does. Closes the WebSocket when too many come in a second. */
  #received(): void {
    if (this.#second !== this.context.tick.seconds) {
      this.#second = this.context.tick.seconds;
      this.#receivedInSecond = 0;
    }
    if (++this.#receivedInSecond <= maximumMessagesPerSecond) return;
    this.#isRefused = true;
    this.#webSocket?.close(closeCodes.policyViolation, "too many messages");
  }

  override write(bytes: Uint8Array): void {
    const webSocket = this.#webSocket;
    if (webSocket?.readyState === webSocket?.OPEN) webSocket?.send(bytes, { binary: this.#messageType === "binary" });
  }

  override bufferedBytes(): number {
    return this.#webSocket?.bufferedAmount ?? 0;
  }

  protected override endBody(): void {
    this.#webSocket?.close(this.context.isClosing ? closeCodes.goingAway : closeCodes.normal);
  }

  override destroy(): void {
    this.#upgrade.socket.destroy();
  }
}
