import type { Socket } from "node:net";

/** The internal handle of a socket in Node.js. */
interface SocketHandle {
  /** Whether Node.js reads the socket. It stops by itself while 64 KiB wait. */
  readonly reading: boolean;
  readStart(): void;
  readStop(): void;
}

/** Undefined: the socket is closed. */
const handleOf = (socket: Socket): SocketHandle | undefined =>
  Reflect.get(socket, "_handle") as SocketHandle | undefined; // what Node.js keeps there, since its first versions

/**
 * Stops reading a socket: the next bytes, and the end of the connection, stay in the kernel. Node.js has no public method for this on a
 * socket below TLS, and it reads a paused socket until 64 KiB wait.
 */
export const stopReading = (socket: Socket): void => handleOf(socket)?.readStop();

/** Undoes `stopReading`. Does nothing if Node.js itself has stopped: it starts again by itself, and fails if that was done before. */
export function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle?.reading === true) handle.readStart();
}

/**
 * Stops reading a connection while it is paused. Node.js would read until 64 KiB wait. If they come byte by byte, they are as many buffers,
 * which take megabytes, and the garbage collector 20 ms.
 */
export function readOnlyWhileFlowing(socket: Socket): void {
  socket.on("pause", () => stopReading(socket));
  socket.on("resume", () => {
    // The socket may have been paused again since.
    if (!socket.isPaused()) startReading(socket);
  });
}
