import { once } from "node:events";
import { connect } from "node:tls";

/** A raw field of a request: every character is an octet. */
export type Field = readonly [name: string, value: string];

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7 } as const;
const endStream = 0x1;
const endHeaders = 0x4;

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
  const block = [[":method", "GET"], [":scheme", "https"], [":authority", "localhost"], [":path", path], ...fields];
  const head = Buffer.concat(block.map(([name = "", value = ""]) => literal(name, value)));
  socket.write(preface);
  socket.write(frame({ type: frameTypes.settings, flags: 0, stream: 0, payload: Buffer.alloc(0) }));
  socket.write(frame({ type: frameTypes.headers, flags: endStream | endHeaders, stream: 1, payload: head }));
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
          stream === 1 && (type === frameTypes.data || type === frameTypes.headers) && (flags & endStream) > 0;
        if (isEnd || type === frameTypes.reset || type === frameTypes.goAway) return body;
      }
    }
    return body;
  } finally {
    socket.destroy();
  }
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

function frame({ type, flags, stream, payload }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A literal field without indexing; names and values of at most 126 octets. */
function literal(name: string, value: string): Buffer {
  const [nameOctets, valueOctets] = [Buffer.from(name, "latin1"), Buffer.from(value, "latin1")];
  if (nameOctets.length > 126 || valueOctets.length > 126) throw new RangeError("too long for one octet of length");
  return Buffer.concat([
    Buffer.from([0, nameOctets.length]),
    nameOctets,
    Buffer.from([valueOctets.length]),
    valueOctets,
  ]);
}
