import { keyPairFiles } from "../machinery/command-line/flag.ts";
import type { FlagValues, Flags, KeyPairFiles } from "../machinery/command-line/flag.ts";

export const listenerFlags = {
  "bind-address": { type: "string", default: "127.0.0.1", help: "The address to listen on." },
  "secure-port": {
    type: "integer",
    default: 6443,
    minimum: 0,
    maximum: 65_535,
    help: "The HTTPS port; 0 picks a free one.",
  },
  "advertise-address": {
    type: "string",
    help: "The host name or address that the written kubeconfig names. Default: the bind address.",
  },
  "tls-cert-file": {
    type: "file",
    help: "PEM file with the serving certificate and its chain. Default: one is made and renewed.",
  },
  "tls-private-key-file": { type: "file", help: "PEM file with the serving certificate's private key." },
  "tls-san": { type: "strings", help: "More DNS names and addresses for the serving certificate that is made." },
  "max-connections": {
    type: "integer",
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Connections at once, and never more than the limit on open files allows; more are closed before their TLS handshake.",
  },
  "max-connections-per-address": {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Connections at once of one client address (an IPv6 /64); raise it behind a TCP load balancer.",
  },
} as const satisfies Flags;

export interface ListenerSettings {
  /** The address to listen on. */
  readonly host: string;
  /** 0: a free one is picked. */
  readonly port: number;
  /** The host name or address that clients connect to. */
  readonly advertisedHost: string;
  /** Undefined: a certificate is made, and renewed, in the data directory. */
  readonly certificate: KeyPairFiles | undefined;
  /** The names and addresses that clients may use, besides loopback and the machine's own. */
  readonly names: readonly string[];
  readonly maximumConnections: number;
  readonly maximumConnectionsPerAddress: number;
}

/** Throws UsageError for settings that can't be used. */
export function listenerSettings(values: FlagValues<typeof listenerFlags>): ListenerSettings {
  const { "bind-address": host, "advertise-address": advertised } = values;
  return {
    host,
    port: values["secure-port"],
    advertisedHost: advertised ?? reachable(host),
    certificate: keyPairFiles(values, "tls-cert-file", "tls-private-key-file"),
    names: [host, advertised ?? "", ...values["tls-san"]].filter((name) => name !== ""),
    maximumConnections: values["max-connections"],
    maximumConnectionsPerAddress: values["max-connections-per-address"],
  };
}

/** The address to connect to: "every address" is none that a client could use. */
const reachable = (address: string): string =>
  address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
