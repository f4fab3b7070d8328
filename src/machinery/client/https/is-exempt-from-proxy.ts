import { BlockList, isIP } from "node:net";
import { isWithinDomain } from "../../api/addresses/is-within-domain.ts";
import { addressOf, withoutBrackets } from "../../api/addresses/url-host.ts";

/**
 * Whether NO_PROXY names a server, by the rules of Go's programs such as kubectl (golang.org/x/net/http/httpproxy): `example.com` is the
 * host and its subdomains, `.example.com` and `*.example.com` are only the subdomains, `10.0.0.0/8` is a network, and `*` is everything. A
 * host or an address may have a port. Names are not looked up.
 */
export function isExemptFromProxy(server: string, noProxy: string): boolean {
  const { host, port } = addressOf(server);
  const asked = { host, port: String(port) };
  return noProxy.split(",").some((entry) => names(entry.trim().toLowerCase(), asked));
}

interface Asked {
  readonly host: string;
  readonly port: string;
}

function names(entry: string, { host, port }: Asked): boolean {
  if (entry === "*") return true;
  const [address = "", bits, ...others] = entry.split("/");
  if (bits !== undefined) return others.length === 0 && isInNetwork(host, { address, bits });
  const [, name = entry, namedPort = port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (name === "" || namedPort !== port) return false;
  const place = withoutBrackets(name).replace(/^\*\./, ".");
  if (isIP(host) !== 0) return isInNetwork(host, { address: place, bits: isIP(place) === 4 ? "32" : "128" });
  return place.startsWith(".") ? host.endsWith(place) : isWithinDomain(host, place);
}

function isInNetwork(host: string, { address, bits }: { readonly address: string; readonly bits: string }): boolean {
  const version = isIP(host);
  if (version === 0 || isIP(address) !== version) return false;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const network = new BlockList();
  network.addSubnet(address, Number(bits), family);
  return network.check(host, family);
}
