import { connect, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { TlsSettingNames } from "../api/tls-failure.ts";
import { addressOf } from "../api/addresses/url-host.ts";

export interface TlsFiles {
  /** PEM of the CAs that the server's certificate must chain to. Absent: the system's CAs. */
  readonly ca?: string;
  /** PEM of the client certificate and its private key. */
  readonly cert?: string;
  readonly key?: string;
  /** Where these are set, for the messages of failed connections. */
  readonly settings?: TlsSettingNames;
}

export const socketScheme = "unix://";

/** The length of `sun_path` in `sockaddr_un` without the final NUL (unix(7); macOS has four bytes less). */
const longestSocketPathBytes = process.platform === "darwin" ? 103 : 107;

/** Returns why no socket can have this path. Undefined: the path is valid. */
export const socketPathFault = (path: string): string | undefined =>
  Buffer.byteLength(path) > longestSocketPathBytes
    ? `the path is longer than ${longestSocketPathBytes} bytes, too long for a socket: shorten it`
    : undefined;

/** A connection to `http://host:port`, `https://host:port` with TLS for HTTP/2, or `unix:///path` of a socket. */
export function connectSocket(url: string, { settings: _settings, ...tls }: TlsFiles): Duplex {
  if (url.startsWith(socketScheme)) return connect({ path: url.slice(socketScheme.length) });
  const address = { ...addressOf(url), noDelay: true };
  if (!url.startsWith("https:")) return connect(address);
  const socket = connectTls({
    ...address,
    ...tls,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["h2"],
    servername: isIP(address.host) === 0 ? address.host : "",
  });
  socket.once("secureConnect", () => {
    if (socket.alpnProtocol !== "h2") socket.destroy(new Error("the server does not speak HTTP/2"));
  });
  return socket;
}
