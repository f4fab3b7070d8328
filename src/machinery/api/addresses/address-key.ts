import { unmappedAddress } from "./unmapped-address.ts";

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
