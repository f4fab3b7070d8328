import type { TlsProtocol } from "../../machinery/http/connections/serving-context.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags } from "../../machinery/command-line/settings/flag.ts";

export const tlsProtocolFlags = {
  "tls-min-version": {
    type: "string",
    default: "VersionTLS12",
    choices: ["VersionTLS12", "VersionTLS13"],
    help: "The lowest TLS version that the server speaks.",
  },
  "tls-cipher-suites": {
    type: "strings",
    help: "The cipher suites for TLS 1.2, by their IANA names, best first. TLS 1.3 always has its three. Default: those of upstream, all with forward secrecy, AES-GCM and ChaCha20 first.",
  },
  "tls-curve-preferences": {
    type: "strings",
    help: "The groups for the key exchange, by their IANA numbers or names, best first: 4588 (X25519MLKEM768), 29 (x25519), 23 (secp256r1). Default: those of OpenSSL, X25519MLKEM768 first where it has it.",
  },
} as const satisfies Flags;

interface CipherSuite {
  readonly openssl: string;
  /** The type of key that the serving certificate must have. */
  readonly key: "ECDSA" | "RSA";
  /** RFC 9113 appendix A forbids the suites that are not AEAD. */
  readonly isForHttp2: boolean;
}

const aead = (openssl: string, key: CipherSuite["key"]): CipherSuite => ({ openssl, key, isForHttp2: true });
const cbc = (openssl: string, key: CipherSuite["key"]): CipherSuite => ({ openssl, key, isForHttp2: false });

/** Go's `tls.CipherSuites` for TLS 1.2, which upstream prefers, best first. */
const suites: ReadonlyMap<string, CipherSuite> = new Map([
  ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", aead("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA")],
  ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", aead("ECDHE-RSA-AES128-GCM-SHA256", "RSA")],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", aead("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDSA")],
  ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", aead("ECDHE-RSA-AES256-GCM-SHA384", "RSA")],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", aead("ECDHE-ECDSA-CHACHA20-POLY1305", "ECDSA")],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", aead("ECDHE-RSA-CHACHA20-POLY1305", "RSA")],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", cbc("ECDHE-ECDSA-AES128-SHA", "ECDSA")],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", cbc("ECDHE-RSA-AES128-SHA", "RSA")],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", cbc("ECDHE-ECDSA-AES256-SHA", "ECDSA")],
  ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", cbc("ECDHE-RSA-AES256-SHA", "RSA")],
]);

/** Upstream accepts these names without their hash function too. */
const olderNames: ReadonlyMap<string, string> = new Map(
  ["ECDSA", "RSA"].map((key) => {
    const name = `TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305`;
    return [name, `${name}_SHA256`];
  }),
);

/** Upstream accepts these in the list, but they have no effect: TLS 1.3 always has all of them. */
const suitesOfTls13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"];

/** The names of the other suites in Go's `tls.InsecureCipherSuites`: RC4, 3DES, CBC with SHA-256, and no forward secrecy. */
const insecureSuite =
  /^TLS_(?:ECDHE_(?:RSA|ECDSA)|RSA)_WITH_(?:RC4_128_SHA|3DES_EDE_CBC_SHA|AES_(?:128|256)_(?:CBC_SHA|CBC_SHA256|GCM_SHA256|GCM_SHA384))$/;

interface Group {
  /** The number in IANA's registry of TLS supported groups, and in Go's `tls.CurveID`. */
  readonly id: number;
  /** IANA's name, which OpenSSL knows. */
  readonly name: string;
  /** Go's name, if it differs. */
  readonly goName?: string;
  readonly isForTls12: boolean;
}

const groups: readonly Group[] = [
  { id: 4588, name: "X25519MLKEM768", isForTls12: false },
  { id: 4587, name: "SecP256r1MLKEM768", isForTls12: false },
  { id: 4589, name: "SecP384r1MLKEM1024", isForTls12: false },
  { id: 29, name: "x25519", isForTls12: true },
  { id: 23, name: "secp256r1", goName: "CurveP256", isForTls12: true },
  { id: 24, name: "secp384r1", goName: "CurveP384", isForTls12: true },
  { id: 25, name: "secp521r1", goName: "CurveP521", isForTls12: true },
];

export interface TlsProtocolSettings {
  readonly protocol: TlsProtocol;
  /** The types of keys with which a serving certificate can be used in TLS 1.2. */
  readonly keysOfTls12: ReadonlySet<CipherSuite["key"]>;
  /** Whether HTTP/2 is allowed over TLS 1.2. */
  readonly isHttp2AllowedWithTls12: boolean;
}

/** Throws UsageError for unknown or insecure names, and for lists that a wanted TLS version cannot use. */
export function tlsProtocolSettings(values: FlagValues<typeof tlsProtocolFlags>): TlsProtocolSettings {
  const minVersion = values["tls-min-version"] === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2";
  const chosen = chosenSuites(values["tls-cipher-suites"], minVersion);
  const curves = chosenGroups(values["tls-curve-preferences"], minVersion);
  return {
    protocol: {
      minVersion,
      ciphers: [...suitesOfTls13, ...chosen.map(({ openssl }) => openssl)].join(":"),
      ...(curves.length > 0 && { ecdhCurve: curves.join(":") }),
    },
    keysOfTls12: new Set(chosen.map(({ key }) => key)),
    isHttp2AllowedWithTls12: chosen.some(({ isForHttp2 }) => isForHttp2),
  };
}

function chosenSuites(names: readonly string[], minVersion: TlsProtocol["minVersion"]): CipherSuite[] {
  if (names.length === 0) return [...suites.values()];
  if (minVersion === "TLSv1.3") {
    throw new UsageError(
      "--tls-cipher-suites is for TLS 1.2, which --tls-min-version VersionTLS13 excludes: leave out one of them",
    );
  }
  const chosen = names
    .filter((name) => !suitesOfTls13.includes(name))
    .map((name) => suites.get(olderNames.get(name) ?? name) ?? refuseSuite(name));
  if (chosen.length > 0) return chosen;
  throw new UsageError(
    "--tls-cipher-suites: all of these are for TLS 1.3, which always has them: to exclude TLS 1.2 give --tls-min-version VersionTLS13, otherwise name a suite for it",
  );
}

function refuseSuite(name: string): never {
  const fault = insecureSuite.test(name) ? "is insecure" : "is not a known suite";
  throw new UsageError(
    `--tls-cipher-suites: ${JSON.stringify(name)} ${fault}; use some of ${[...suites.keys()].join(", ")}`,
  );
}

function chosenGroups(texts: readonly string[], minVersion: TlsProtocol["minVersion"]): string[] {
  const chosen = texts.map((text) => {
    const found = groups.find(({ id, name, goName }) =>
      [String(id), name, goName].some((one) => one?.toLowerCase() === text.trim().toLowerCase()),
    );
    if (found !== undefined) return found;
    const known = groups.map(({ id, name }) => `${id} (${name})`).join(", ");
    throw new UsageError(`--tls-curve-preferences: ${JSON.stringify(text)} is not one of ${known}`);
  });
  const isUsable = chosen.length === 0 || minVersion === "TLSv1.3" || chosen.some(({ isForTls12 }) => isForTls12);
  if (isUsable) return [...new Set(chosen.map(({ name }) => name))];
  throw new UsageError(
    "--tls-curve-preferences: TLS 1.2 has none of these groups: add 29 (x25519) or 23 (secp256r1), or give --tls-min-version VersionTLS13",
  );
}
