import type { IncomingMessage } from "node:http";
import { ApiError, badRequest } from "../../../api/api-error.ts";
import type { HttpRequest } from "../../../api/http-message.ts";
import { subprotocolWords } from "../../../api/web-socket-subprotocols.ts";
import { isBehindUnanswered } from "./node-http.ts";
import { sentOnce } from "../../sent-header.ts";

/**
 * Whether a request of HTTP/1.1 asks to speak WebSocket (upstream: `wsstream.IsWebSocketRequest`). Node.js calls it only for
 * requests whose `Connection` header lists `upgrade`. Other offers are ignored (RFC 9110 section 7.8): of another protocol, with a
 * body, or behind an unanswered request, whose answer would come after the first bytes of the other protocol.
 */
export const wantsWebSocket = (request: IncomingMessage): boolean =>
  request.method === "GET" &&
  request.httpVersion === "1.1" &&
  request.headers.upgrade?.toLowerCase() === "websocket" &&
  request.headers["transfer-encoding"] === undefined &&
  Number(request.headers["content-length"] ?? 0) === 0 &&
  !isBehindUnanswered(request);

/**
 * Throws a 400 for a handshake that breaks RFC 6455, and a 403 for a handshake that a browser makes for a page of another server. Browsers
 * send their user's certificate with such a handshake, and do not hide the answer from the page. Requests without a certificate are
 * allowed, because a page cannot send a token that it does not know.
 */
export function refuseHandshake({ headers, connection }: Pick<HttpRequest, "headers" | "connection">): void {
  if (sentOnce(headers, "sec-websocket-version") !== "13") {
    throw badRequest("the WebSocket handshake must have the header Sec-WebSocket-Version: 13");
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(sentOnce(headers, "sec-websocket-key") ?? "")) {
    throw badRequest("the WebSocket handshake must have a Sec-WebSocket-Key of 16 bytes in base64");
  }
  if (headers["sec-websocket-protocol"] !== undefined) {
    const words = subprotocolWords(headers);
    if (!words.every((word) => /^[!#$%&'*+.^_`|~\w-]+$/.test(word)) || new Set(words).size < words.length) {
      throw badRequest("Sec-WebSocket-Protocol must be a list of different words, separated by commas");
    }
  }
  if (headers["origin"] === undefined || connection.peerCertificates.length === 0) return;
  const origin = sentOnce(headers, "origin") ?? "";
  const host = sentOnce(headers, "host") ?? "";
  // Compares the scheme too: an attacker in the network can show a page under this server's name with http:.
  if (URL.parse(origin)?.origin !== URL.parse(`https://${host}`)?.origin) throw foreignPage();
}

const foreignPage = (): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message: "forbidden: a page of another origin cannot open a WebSocket with its user's client certificate",
  });
