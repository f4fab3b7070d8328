/** An IPv4 address that an IPv6 socket reports as `::ffff:10.0.0.1` (RFC 4291 section 2.5.5.2), as IPv4. Others stay as they are. */
export const unmappedAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
