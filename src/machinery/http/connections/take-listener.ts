import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/**
 * Removes the only listener from an HTTPS server, or from one of its connections, and returns it. For connections: only those within
 * the limits may start TLS. After the handshake: the negotiated protocol decides who serves the connection. For data: it is read in turns.
 */
export function takeListener(
  emitter: EventEmitter,
  event: "connection" | "secureConnection" | "data",
): (socketOrBytes: Socket | Buffer) => void {
  const [listener] = emitter.listeners(event);
  if (listener === undefined)
    throw new Error(`nothing listens for ${event}: this version of Node.js serves HTTPS in another way`);
  emitter.removeAllListeners(event);
  return (socketOrBytes) => {
    listener.call(emitter, socketOrBytes);
  };
}
