import type { Server } from "node:https";
import type { Socket } from "node:net";
import { peerOf } from "./peer-of.ts";

/** The words of Go's net/http. */
const plainHttpAnswer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/** Ends connections whose handshake fails. A client that has sent a request of HTTP without TLS is told so. */
export function endFailedHandshakes(server: Server): void {
  // Node.js reports a failure with its TLS socket, which can no longer write.
  const byPeer = new Map<string, Socket>();
  server.on("connection", (socket) => {
    const peer = peerOf(socket);
    byPeer.set(peer, socket);
    socket.once("close", () => {
      if (byPeer.get(peer) === socket) byPeer.delete(peer);
    });
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, tlsSocket) => {
    // Before the end of the TLS socket, which ends the other one.
    if (error.code === "ERR_SSL_HTTP_REQUEST") byPeer.get(peerOf(tlsSocket))?.end(plainHttpAnswer);
    tlsSocket.destroy();
  });
}
