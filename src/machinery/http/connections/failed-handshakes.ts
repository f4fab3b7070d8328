import type { Server } from "node:https";
import type { Socket } from "node:net";
import { endpointsOf } from "./endpoints-of.ts";

/** The words of Go's net/http. */
const plainHttpAnswer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/** Ends connections whose handshake fails. A client that has sent an HTTP request without TLS gets an answer that says so. */
export function endFailedHandshakes(server: Server): void {
  // Node.js reports a failure with its TLS socket, which can no longer write.
  const byEndpoints = new Map<string, Socket>();
  server.on("connection", (socket) => {
    const endpoints = endpointsOf(socket);
    byEndpoints.set(endpoints, socket);
    socket.once("close", () => {
      if (byEndpoints.get(endpoints) === socket) byEndpoints.delete(endpoints);
    });
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, tlsSocket) => {
    // Before the TLS socket is destroyed, which also ends the socket below it.
    if (error.code === "ERR_SSL_HTTP_REQUEST") byEndpoints.get(endpointsOf(tlsSocket))?.end(plainHttpAnswer);
    tlsSocket.destroy();
  });
}
