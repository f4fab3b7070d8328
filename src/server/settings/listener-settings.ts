import { isIP } from "node:net";
import { keyPairFiles, UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags, KeyPairFiles } from "../../machinery/command-line/settings/flag.ts";
import { namedKeyPairs, namedKeyPairsFlags } from "../tls/named-key-pairs.ts";
import type { NamedKeyPair } from "../tls/named-key-pairs.ts";
import { tlsProtocolFlags, tlsProtocolSettings } from "../tls/tls-protocol-settings.ts";
import type { TlsProtocolSettings } from "../tls/tls-protocol-settings.ts";
import { hostNameOf } from "../../pki/names/dns-name.ts";

export const listenerFlags = {
  "bind-address": { type: "string", default: "127.0.0.1", help: "The address to listen on." },
  "secure-port": {
    type: "integer",
    default: 6443,
    minimum: 0,
    maximum: 65_535,
    help: "The HTTPS port. 0 selects a free port.",
  },
  "advertise-address": {
    type: "string",
    help: "The host name or address of the server in admin.kubeconfig. Default: the bind address.",
  },
  "admin-certificate-duration": {
    type: "duration",
    default: "168h",
    help: "How long the client certificate in admin.kubeconfig is valid. A running server renews it after half of that time.",
  },
  "revocation-http-address": {
    type: "string",
    help: "ADDRESS:PORT at which /pki/ (revocation lists, OCSP, CA certificates) is served over plain HTTP too. Needs --revocation-url. Default: only on the secure port.",
  },
  "tls-cert-file": {
    type: "file",
    isFollowed: true,
    help: "PEM file with the serving certificate and its chain. Default: a generated certificate, renewed automatically.",
  },
  "tls-private-key-file": {
    type: "file",
    isFollowed: true,
    help: "PEM file with the serving certificate's private key.",
  },
  "tls-san": { type: "strings", help: "Additional DNS names and IP addresses for the generated serving certificate." },
  ...namedKeyPairsFlags,
  ...tlsProtocolFlags,
  "max-connections": {
    type: "integer",
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Maximum concurrent connections, within the limit on open files. For another one, the oldest idle one is closed.",
  },
  "max-connections-per-address": {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Maximum concurrent connections of one client address (or IPv6 /64). For another one, its oldest idle one is closed. Raise it behind a TCP load balancer.",
  },
} as const satisfies Flags;

export interface ListenerSettings {
  /** The address to listen on. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The host name or address that clients connect to. */
  readonly advertisedHost: string;
  readonly administratorLifetimeMilliseconds: number;
  /** The address that serves revocation over plain HTTP. */
  readonly revocationAddress: PlainAddress | undefined;
  /** Undefined: the server generates and renews a certificate in the data directory. */
  readonly certificate: KeyPairFiles | undefined;
  /** Certificates for clients that send certain server names. */
  readonly namedCertificates: readonly NamedKeyPair[];
  readonly tls: TlsProtocolSettings;
  /** Names and addresses that clients may use, in addition to loopback and the machine's own. */
  readonly names: readonly string[];
  readonly maximumConnections: number;
  readonly maximumConnectionsPerAddress: number;
}

/** Throws UsageError for invalid settings. */
export function listenerSettings(values: FlagValues<typeof listenerFlags>): ListenerSettings {
  const { "bind-address": host, "advertise-address": advertised, "tls-san": names } = values;
  checkHost({ flag: "bind-address", host, allowsWildcard: false });
  if (advertised !== undefined) checkHost({ flag: "advertise-address", host: advertised, allowsWildcard: false });
  for (const name of names) checkHost({ flag: "tls-san", host: name, allowsWildcard: true });
  return {
    host,
    port: values["secure-port"],
    advertisedHost: advertised ?? reachable(host),
    administratorLifetimeMilliseconds: administratorLifetime(values["admin-certificate-duration"]),
    revocationAddress: plainAddress("revocation-http-address", values["revocation-http-address"]),
    certificate: keyPairFiles(values, { certificateFlag: "tls-cert-file", keyFlag: "tls-private-key-file" }),
    namedCertificates: namedKeyPairs(values),
    tls: tlsProtocolSettings(values),
    names: [host, advertised ?? "", ...names].filter((name) => name !== ""),
    maximumConnections: values["max-connections"],
    maximumConnectionsPerAddress: values["max-connections-per-address"],
  };
}

interface NamedHost {
  readonly flag: string;
  readonly host: string;
  readonly allowsWildcard: boolean;
}

/**
 * Throws UsageError for an address on which nobody can listen or to which nobody can connect. As kube-apiserver, also refuses the address
 * of one network interface. An empty name is left out later.
 */
function checkHost({ flag, host, allowsWildcard }: NamedHost): void {
  if (isIP(host) !== 0 && host.includes("%")) {
    throw new UsageError(
      `--${flag}: ${JSON.stringify(host)} names a network interface, which no certificate can; give an address without one`,
    );
  }
  if (host === "" || isIP(host) !== 0 || hostNameOf(host, { allowsWildcard }) !== undefined) return;
  throw new UsageError(
    `--${flag}: ${JSON.stringify(host)} is not a DNS name or an IP address; give it without a scheme, brackets or a port`,
  );
}

const hourMilliseconds = 3_600_000;
const longestLifetimeHours = 8760;

function administratorLifetime(milliseconds: number): number {
  if (milliseconds >= hourMilliseconds && milliseconds <= longestLifetimeHours * hourMilliseconds) return milliseconds;
  throw new UsageError(`--admin-certificate-duration must be between 1h and ${longestLifetimeHours}h`);
}

/** The address that clients connect to. They cannot connect to the unspecified address. */
const reachable = (address: string): string =>
  address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;

/** The address of a listener without TLS. */
export interface PlainAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `ADDRESS:PORT` of a flag. An IPv6 address is in brackets. Throws UsageError. */
export function plainAddress(flag: string, text: string | undefined): PlainAddress | undefined {
  if (text === undefined) return undefined;
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new UsageError(`--${flag}: ${JSON.stringify(text)} must be ADDRESS:PORT, such as 0.0.0.0:8080`);
}
