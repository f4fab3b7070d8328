/** Formats an IP address: dotted for IPv4 and IPv4-mapped IPv6, RFC 5952 for other IPv6. */
export function formatIpAddress(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join(".");
  if (isIpv4Mapped(octets)) return octets.subarray(12).join(".");
  const groups: string[] = [];
  for (let index = 0; index < 16; index += 2) {
    groups.push((((octets[index] ?? 0) << 8) | (octets[index + 1] ?? 0)).toString(16));
  }
  const { start, length } = longestZeroRun(groups);
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`;
}

/** Whether octets are an IPv4-mapped IPv6 address (RFC 4291 2.5.5.2). */
export const isIpv4Mapped = (octets: Uint8Array): boolean =>
  octets.length === 16 &&
  octets.subarray(0, 10).every((octet) => octet === 0) &&
  octets[10] === 0xff &&
  octets[11] === 0xff;

function longestZeroRun(groups: readonly string[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === "0") length++;
    if (length > longest.length) longest = { start, length };
  }
  return longest;
}

/**
 * Parses an IP address to 4 octets (IPv4 and IPv4-mapped IPv6) or 16. Undefined when the text is not an address. Zones
 * and leading zeros are refused.
 */
export function parseIpAddress(text: string): Buffer | undefined {
  if (text.length > 45) return undefined;
  if (!text.includes(":")) return parseIpv4(text);
  const halves = text.split("::");
  const head = parseGroups(halves[0] ?? "", { isLast: halves.length === 1 });
  const tail = parseGroups(halves[1] ?? "", { isLast: true });
  if (halves.length > 2 || head === undefined || tail === undefined) return undefined;
  const gap = 16 - head.length - tail.length;
  if (halves.length === 1 ? gap !== 0 : gap < 2) return undefined;
  const octets = Buffer.from([...head, ...Array<number>(gap).fill(0), ...tail]);
  return isIpv4Mapped(octets) ? octets.subarray(12) : octets;
}

function parseIpv4(text: string): Buffer | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return Buffer.from(parts.map(Number));
}

/** The octets on one side of `::`. Only the last side may end in an IPv4 address. */
function parseGroups(text: string, { isLast }: { readonly isLast: boolean }): number[] | undefined {
  if (text === "") return [];
  const octets: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      octets.push(value >> 8, value & 0xff);
      continue;
    }
    const ipv4 = isLast && index === groups.length - 1 ? parseIpv4(group) : undefined;
    if (ipv4 === undefined) return undefined;
    octets.push(...ipv4);
  }
  return octets;
}

/** An address in the form of certificates, in which two spellings of one address are equal. Undefined when the text is not an address. */
export function normalIpAddress(text: string): string | undefined {
  const octets = parseIpAddress(text);
  return octets && formatIpAddress(octets);
}

/** An address range; `mask` is as long as `address`. */
export interface IpRange {
  readonly address: Uint8Array;
  readonly mask: Uint8Array;
}

/** Parses CIDR notation, such as `10.0.0.0/8`, or a single address. */
export function parseIpRange(text: string): IpRange | undefined {
  const slash = text.indexOf("/");
  const address = parseIpAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === undefined) return undefined;
  const bits = address.length * 8;
  const prefixText = slash < 0 ? String(bits) : text.slice(slash + 1);
  if (!/^(0|[1-9]\d{0,2})$/.test(prefixText) || Number(prefixText) > bits) return undefined;
  const prefix = Number(prefixText);
  const mask = Buffer.alloc(address.length);
  for (let index = 0; index < mask.length; index++) {
    mask[index] = 0xff << (8 - Math.max(0, Math.min(8, prefix - index * 8)));
  }
  return { address, mask };
}

/** Whether a range contains an address. An IPv4 range never contains an IPv6 address, or the reverse. */
export function isInIpRange(address: Uint8Array, range: IpRange): boolean {
  return (
    address.length === range.address.length &&
    address.every((octet, index) => {
      const mask = range.mask[index] ?? 0;
      return (octet & mask) === ((range.address[index] ?? 0) & mask);
    })
  );
}
