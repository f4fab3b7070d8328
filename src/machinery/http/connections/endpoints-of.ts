import type { Socket } from "node:net";

/**
 * The addresses of both endpoints of an open connection. The socket below TLS and the TLS socket have the same endpoints. The server's
 * address tells two connections of the same client address and port apart.
 */
export const endpointsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
