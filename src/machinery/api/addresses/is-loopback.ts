import { BlockList, isIP } from "node:net";
import { withoutBrackets } from "./url-host.ts";

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet("127.0.0.0", 8, "ipv4");
loopbackAddresses.addAddress("::1", "ipv6");

/**
 * Whether a host names this machine's loopback interface: `localhost`, or a loopback address. An IPv6 address may be in brackets, as in
 * URLs.
 */
export function isLoopback(host: string): boolean {
  const address = withoutBrackets(host);
  const version = isIP(address);
  if (version === 0) return host.toLowerCase() === "localhost";
  return loopbackAddresses.check(address, version === 4 ? "ipv4" : "ipv6");
}
