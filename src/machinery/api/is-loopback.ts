import { BlockList, isIP } from "node:net";
import { withoutBrackets } from "./url-host.ts";

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet("127.0.0.0", 8, "ipv4");
loopbackAddresses.addAddress("::1", "ipv6");

/** Whether a host is this machine to itself: `localhost`, or a loopback address. In URLs, IPv6 addresses have brackets. */
export function isLoopback(host: string): boolean {
  const address = withoutBrackets(host);
  const version = isIP(address);
  if (version === 0) return host.toLowerCase() === "localhost";
  return loopbackAddresses.check(address, version === 4 ? "ipv4" : "ipv6");
}
