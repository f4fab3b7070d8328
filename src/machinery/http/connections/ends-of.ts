import type { Socket } from "node:net";

/**
 * Both ends of an open connection. The socket below TLS and the one above it have the same. Two connections of a client's address and port
 * are told apart by the server's address.
 */
export const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
