import type { Socket } from "node:net";

/** What Node.js has of a socket that only it can read. */
interface SocketHandle {
  /** Whether Node.js reads it. It does not while 64 KiB wait. */
  readonly reading: boolean;
  readStart(): void;
  readStop(): void;
}

/** Undefined: the socket is closed. */
const handleOf = (socket: Socket): SocketHandle | undefined =>
  Reflect.get(socket, "_handle") as SocketHandle | undefined; // what Node.js keeps there, since its first versions

/**
 * Leaves in the kernel what comes next, also the end of the connection. Node.js offers nothing else for a socket below TLS, and reads on
 * while one is paused, until 64 KiB wait.
 */
export const stopReading = (socket: Socket): void => handleOf(socket)?.readStop();

/** Undoes `stopReading`. Where Node.js does not read, it begins by itself, and fails if that has been done. */
export function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle?.reading === true) handle.readStart();
}

/**
 * While a connection is paused, leaves in the kernel what comes next. Node.js would read it on until 64 KiB wait: in parts of one byte, these
 * are as many buffers, which take megabytes, and 20 ms to collect.
 */
export function readOnlyWhileFlowing(socket: Socket): void {
  socket.on("pause", () => stopReading(socket));
  socket.on("resume", () => {
    // It may have been paused again since.
    if (!socket.isPaused()) startReading(socket);
  });
}
