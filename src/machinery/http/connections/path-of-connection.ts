import type { Socket } from "node:net";
import { addressPath } from "../../scheduling/share-path.ts";
import type { SharePath } from "../../scheduling/share-path.ts";
import { endpointsOf } from "./endpoints-of.ts";

/** The sharer for one connection. All connections of an address are one sharer, and share among themselves. */
export const pathOfConnection = (socket: Socket): SharePath => [
  ...addressPath(socket.remoteAddress ?? ""),
  `connection/${endpointsOf(socket)}`,
];
