import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";

export const protocols = ["HTTP/1.1", "HTTP/2"] as const;

interface UnfinishedRequest {
  readonly protocol: (typeof protocols)[number];
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body. Default: none. */
  readonly contentLength?: number;
  /** The part of the body that is sent. */
  readonly sent?: string;
}

/** Sends a request, or a part of it, on a connection of its own. The returned function closes the connection. */
export function sendThenLeave(
  port: number,
  { protocol, method = "POST", path, headers = {}, contentLength = 0, sent = "" }: UnfinishedRequest,
): () => void {
  const all = { ...headers, ...(contentLength > 0 && { "content-length": String(contentLength) }) };
  if (protocol === "HTTP/2") {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.on("error", () => undefined);
    const stream = session.request({ ":path": path, ":method": method, ...all }, { endStream: contentLength === 0 });
    stream.on("error", () => undefined);
    if (contentLength > 0 && sent.length === contentLength) stream.end(sent);
    else if (sent !== "") stream.write(sent);
    return () => session.destroy();
  }
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  socket.on("error", () => undefined);
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: h\r\n${lines.join("")}\r\n${sent}`);
  return () => socket.destroy();
}
