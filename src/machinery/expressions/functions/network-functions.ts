import type { Environment } from "@marcbachmann/cel-js";
import { formatIpAddress, parseIpAddress } from "../../../pki/names/ip-address.ts";
import { addFunctions, parses } from "../add-functions.ts";
import { spendSteps } from "../cost-budget.ts";

/** Reading an IPv6 address takes as long as this many steps. */
const stepsOfIpv6 = 50;

/** An IP address. Upstream refuses zones, leading zeros, and IPv4 addresses that are written as IPv6. */
class Address {
  readonly text: string;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.text = formatIpAddress(bytes);
    this.bytes = bytes;
  }

  static parse(text: string): Address {
    const isIpv6 = text.includes(":");
    if (isIpv6) spendSteps(stepsOfIpv6);
    const bytes = parseIpAddress(text);
    if (bytes === undefined)
      throw new Error(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
    if (isIpv6 && bytes.length === 4)
      throw new Error(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
    return new Address(bytes);
  }

  get family(): bigint {
    return this.bytes.length === 4 ? 4n : 6n;
  }
  get isUnspecified(): boolean {
    return this.bytes.every((byte) => byte === 0);
  }
  get isLoopback(): boolean {
    return this.family === 4n ? this.#byte(0) === 127 : this.text === "::1";
  }
  get isMulticast(): boolean {
    return this.family === 4n ? (this.#byte(0) & 0xf0) === 0xe0 : this.#byte(0) === 0xff;
  }
  get isLinkLocalMulticast(): boolean {
    return this.family === 4n
      ? this.#byte(0) === 224 && this.#byte(1) === 0 && this.#byte(2) === 0
      : this.#byte(0) === 0xff && (this.#byte(1) & 0x0f) === 2;
  }
  get isLinkLocalUnicast(): boolean {
    return this.family === 4n
      ? this.#byte(0) === 169 && this.#byte(1) === 254
      : this.#byte(0) === 0xfe && (this.#byte(1) & 0xc0) === 0x80;
  }
  get isGlobalUnicast(): boolean {
    const isBroadcast = this.text === "255.255.255.255";
    return !(isBroadcast || this.isUnspecified || this.isLoopback || this.isMulticast || this.isLinkLocalUnicast);
  }
  toString(): string {
    return this.text;
  }

  #byte(index: number): number {
    return this.bytes[index] ?? 0;
  }
}

/** A network: an address and the length of its prefix. */
class Network {
  readonly address: Address;
  readonly prefixLength: number;

  constructor(address: Address, prefixLength: number) {
    this.address = address;
    this.prefixLength = prefixLength;
  }

  static parse(text: string): Network {
    const [address = "", length = "", ...rest] = text.split("/");
    const prefixLength = /^(0|[1-9]\d{0,2})$/.test(length) && rest.length === 0 ? Number(length) : Number.NaN;
    const parsed = Address.parse(address);
    if (!(prefixLength <= parsed.bytes.length * 8)) {
      throw new Error(`network address parse error during conversion from string: ${JSON.stringify(text)}`);
    }
    return new Network(parsed, prefixLength);
  }

  containsAddress({ bytes }: Address): boolean {
    if (bytes.length !== this.address.bytes.length) return false;
    return bytes.every((byte, index) => {
      const mask = this.#mask(index);
      return (byte & mask) === ((this.address.bytes[index] ?? 0) & mask);
    });
  }
  containsNetwork(other: Network): boolean {
    return other.prefixLength >= this.prefixLength && this.containsAddress(other.address);
  }
  masked(): Network {
    const bytes = this.address.bytes.map((byte, index) => byte & this.#mask(index));
    return new Network(Address.parse(formatIpAddress(bytes)), this.prefixLength);
  }
  toString(): string {
    return `${this.address.text}/${this.prefixLength}`;
  }

  #mask(index: number): number {
    const bits = Math.min(8, Math.max(0, this.prefixLength - index * 8));
    return (0xff << (8 - bits)) & 0xff;
  }
}

/** `ip.isCanonical(text)`. */
class AddressFunctions {
  readonly name = "ip";
}

/** Kubernetes' functions for addresses and networks. */
export function addNetworkFunctions(environment: Environment): void {
  const [ip, cidr] = ["net.IP", "net.CIDR"];
  environment
    .registerType(ip, Address)
    .registerType(cidr, Network)
    .registerType("kubernetes.AddressFunctions", AddressFunctions)
    .registerConstant("ip", "kubernetes.AddressFunctions", new AddressFunctions());
  environment.registerOperator(`${ip} == ${ip}`, (one: Address, other: Address) => one.text === other.text);
  environment.registerOperator(`${cidr} == ${cidr}`, (one: Network, other: Network) => String(one) === String(other));
  addFunctions(environment, {
    [`ip(string): ${ip}`]: (text: string) => Address.parse(text),
    "isIP(string): bool": parses(Address.parse),
    "kubernetes.AddressFunctions.isCanonical(string): bool": (_functions: unknown, text: string) =>
      Address.parse(text).text === text,
    [`string(${ip}): string`]: String,
    [`${ip}.family(): int`]: (one: Address) => one.family,
    [`${ip}.isUnspecified(): bool`]: (one: Address) => one.isUnspecified,
    [`${ip}.isLoopback(): bool`]: (one: Address) => one.isLoopback,
    [`${ip}.isLinkLocalMulticast(): bool`]: (one: Address) => one.isLinkLocalMulticast,
    [`${ip}.isLinkLocalUnicast(): bool`]: (one: Address) => one.isLinkLocalUnicast,
    [`${ip}.isGlobalUnicast(): bool`]: (one: Address) => one.isGlobalUnicast,
    [`cidr(string): ${cidr}`]: (text: string) => Network.parse(text),
    "isCIDR(string): bool": parses(Network.parse),
    [`string(${cidr}): string`]: String,
    [`${cidr}.containsIP(${ip}): bool`]: (one: Network, other: Address) => one.containsAddress(other),
    [`${cidr}.containsIP(string): bool`]: (one: Network, other: string) => one.containsAddress(Address.parse(other)),
    [`${cidr}.containsCIDR(${cidr}): bool`]: (one: Network, other: Network) => one.containsNetwork(other),
    [`${cidr}.containsCIDR(string): bool`]: (one: Network, other: string) => one.containsNetwork(Network.parse(other)),
    [`${cidr}.ip(): ${ip}`]: (one: Network) => one.address,
    [`${cidr}.masked(): ${cidr}`]: (one: Network) => one.masked(),
    [`${cidr}.prefixLength(): int`]: (one: Network) => BigInt(one.prefixLength),
  });
}
