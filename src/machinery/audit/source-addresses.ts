import { isIP } from "node:net";
import type { HttpRequest } from "../api/http-message.ts";

/** A header can hold thousands. The address of the connection is always recorded. */
const maximumForwarded = 32;

/**
 * The addresses of a request's way: those that X-Forwarded-For and X-Real-Ip claim, then that of the connection, the only
 * one that cannot be made up (upstream: `net.SourceIPs`).
 */
export function sourceAddresses({ headers, connection }: HttpRequest): string[] {
  const addresses: string[] = [];
  const forwarded = firstValue(headers["x-forwarded-for"]);
  if (forwarded !== undefined) {
    for (const part of forwarded.split(",", maximumForwarded)) {
      const address = part.trim();
      if (isIP(address) > 0) addresses.push(unmapped(address));
    }
  }
  const real = firstValue(headers["x-real-ip"])?.trim();
  if (real !== undefined && isIP(real) > 0 && !addresses.includes(unmapped(real))) addresses.push(unmapped(real));
  const remote = unmapped(connection.remoteAddress);
  if (addresses.at(-1) !== remote) addresses.push(remote);
  return addresses;
}

const firstValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "object" ? value[0] : value;

/** An IPv4 address that an IPv6 socket reports (RFC 4291 section 2.5.5.2), as IPv4. */
const unmapped = (address: string): string =>
  address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
