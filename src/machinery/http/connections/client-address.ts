import type { Socket } from "node:net";
import { unmappedAddress } from "../../api/addresses/unmapped-address.ts";
import { addressPath } from "../../scheduling/share-path.ts";
import type { SharePath } from "../../scheduling/share-path.ts";
import { endpointsOf } from "./endpoints-of.ts";

/** The sharer for requests and bytes from an address while their user is not known. */
export const pathOfAddress = (address: string): SharePath => addressPath(addressKey(address));

/** The sharer for one connection. All connections of an address are one sharer, and share among themselves. */
export const pathOfConnection = (socket: Socket): SharePath => [
  ...pathOfAddress(socket.remoteAddress ?? ""),
  `connection/${endpointsOf(socket)}`,
];

/** An address in the system's notation, or the /64 of an IPv6 address. */
export function addressKey(reported: string): string {
  const address = unmappedAddress(reported);
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = (address.split("%", 1)[0] ?? "").split("::");
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
