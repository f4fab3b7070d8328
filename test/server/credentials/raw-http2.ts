import { once } from "node:events";
import { connect } from "node:tls";
import { clientPreface, flags as frameFlags, frameTypes } from "../../../src/machinery/http2/protocol.ts";
import { encodeFrame, get, headerBlock, requestFields, settings } from "../../machinery/http2/frame-client.ts";

/** A raw field of a request: every character is an octet. */
export type Field = readonly [name: string, value: string];

/**
 * Sends one GET in hand-made HTTP/2 frames (RFC 9113, RFC 7541 section 6.2.2), because clients refuse to send malformed
 * fields. Returns the body, or "" when the server resets the stream or the connection without one.
 */
export async function sendRawHttp2(
  port: number,
  { path, fields }: { readonly path: string; readonly fields: readonly Field[] },
): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  const payload = headerBlock([...requestFields("GET", path), ...fields]);
  socket.write(Buffer.concat([clientPreface, encodeFrame(settings()), encodeFrame({ ...get(1), payload })]));
  let received = Buffer.alloc(0);
  let body = "";
  try {
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      for (;;) {
        const length = received.length < 9 ? Infinity : received.readUIntBE(0, 3);
        if (received.length < 9 + length) break;
        const [type, flags, stream] = [received[3], received[4] ?? 0, received.readUInt32BE(5)];
        if (type === frameTypes.data && stream === 1) body += received.toString("utf8", 9, 9 + length);
        received = received.subarray(9 + length);
        const isEnd =
          stream === 1 &&
          (type === frameTypes.data || type === frameTypes.headers) &&
          (flags & frameFlags.endStream) > 0;
        if (isEnd || type === frameTypes.resetStream || type === frameTypes.goAway) return body;
      }
    }
    return body;
  } finally {
    socket.destroy();
  }
}
