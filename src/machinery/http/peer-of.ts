import type { Socket } from "node:net";

/** The client's end of a connection. The socket below TLS and the one above it have the same. */
export const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
