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
