import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/**
 * Removes the only listener from an HTTPS server, or from one of its connections, and returns it, so that the caller decides when it runs:
 * `connection` only within the limits, `secureConnection` only if HTTP/1.1 was negotiated, and `data` in turns.
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
