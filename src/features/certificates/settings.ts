import { kubernetesNames, platformNames } from "../../machinery/api/names.ts";
import { minimumExpirationSeconds, minimumExpirationText } from "./requested-lifetime.ts";
import { bySigner, wellKnownSigners } from "./signers/well-known-signers.ts";
import type { SignerShortName } from "./signers/well-known-signers.ts";
import { keyPairFiles, UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flag, FlagValues, Flags, KeyPairFiles } from "../../machinery/command-line/settings/flag.ts";

type FileFlag = Extract<Flag, { type: "file" }>;
type SignerFlags = Readonly<Record<`cluster-signing-${SignerShortName}-${"cert" | "key"}-file`, FileFlag>>;

const pathOrUri = "PEM private key of that CA, or the pkcs11: URI of a key in a token.";

/** The path of a signer's name: `signer-name` for `example.com/signer-name`. */
const pathOf = (signerName: string): string => signerName.slice(signerName.indexOf("/") + 1);

const fileFlagsOf = (signer: (typeof wellKnownSigners)[number]): readonly (readonly [string, FileFlag])[] => {
  const [name, upstreamName] = [platformNames, kubernetesNames].map((names) => pathOf(signer.nameIn(names)));
  const help = `The same, only for the signer ${name} (${upstreamName}).`;
  return [
    [`cluster-signing-${signer.shortName}-cert-file`, { type: "file", isFollowed: true, help }],
    [`cluster-signing-${signer.shortName}-key-file`, { type: "file", isFollowed: true, help: pathOrUri }],
  ];
};

// `fromEntries` loses the type of the keys: two for each short name.
const signerFlags = Object.fromEntries(wellKnownSigners.flatMap(fileFlagsOf)) as SignerFlags;

/** The flags of `signet serve` and `signet controllers` about certificates. */
export const certificateFlags = {
  "cluster-signing-duration": {
    type: "duration",
    default: "8760h",
    help: "The maximum lifetime of a signed certificate.",
  },
  "cluster-signing-cert-file": {
    type: "file",
    isFollowed: true,
    help: "PEM certificate of the CA that signs requests, then its chain. Default: each signer's own in the data directory.",
  },
  "cluster-signing-key-file": { type: "file", isFollowed: true, help: pathOrUri },
  ...signerFlags,
  "signer-config": {
    type: "file",
    isFollowed: true,
    help: "YAML file with custom signers: names, CAs, rules. Default: none.",
  },
  "approval-policy": {
    type: "file",
    isFollowed: true,
    help: "YAML file with rules that approve or deny certificate requests. Default: none.",
  },
  "issued-certificate-retention": {
    type: "duration",
    default: "720h",
    help: "How long the record of a certificate is kept after the certificate has expired.",
  },
  "revocation-url": {
    type: "string",
    help:
      "The http:// URL at which others reach this server's /pki/, such as http://pki.example.com. Publishes a revocation list (CRL) for " +
      "the CA of each signer, answers OCSP, and names both in new certificates. Default: none of that.",
  },
  "crl-lifetime": {
    type: "duration",
    default: "24h",
    help: "How long a published revocation list is valid. A new one comes much earlier.",
  },
  "crl-sharding": {
    type: "boolean",
    default: false,
    help: "Publish each revocation list also in 16 parts, and name only its part in each certificate: for 10,000 revoked certificates and more.",
  },
} as const satisfies Flags;

export interface CertificateSettings {
  readonly maximumLifetimeMilliseconds: number;
  /** The CA for signers without a CA of their own. */
  readonly authority: KeyPairFiles | undefined;
  readonly authorityOf: Readonly<Record<SignerShortName, KeyPairFiles | undefined>>;
  readonly signerConfigurationFile: string | undefined;
  readonly approvalPolicyFile: string | undefined;
  readonly recordRetentionMilliseconds: number;
  /** Undefined: revocation is not published. */
  readonly revocation: RevocationSettings | undefined;
}

export interface RevocationSettings {
  /** The URL, without a slash at its end. */
  readonly url: string;
  readonly listLifetimeMilliseconds: number;
  /** Whether certificates name a part of their CA's list instead of the whole list. */
  readonly isSharded: boolean;
}

/**
 * Reads the settings of this feature. Throws UsageError for a certificate file without a key file, and for lifetimes that no certificate
 * can have.
 */
export function certificateSettings(values: FlagValues<typeof certificateFlags>): CertificateSettings {
  const { "cluster-signing-duration": maximumLifetimeMilliseconds } = values;
  if (maximumLifetimeMilliseconds < minimumExpirationSeconds * 1000) {
    throw new UsageError(`--cluster-signing-duration must be at least ${minimumExpirationText}`);
  }
  return {
    maximumLifetimeMilliseconds,
    authority: keyPairFiles(values, {
      certificateFlag: "cluster-signing-cert-file",
      keyFlag: "cluster-signing-key-file",
    }),
    authorityOf: bySigner((shortName) =>
      keyPairFiles(values, {
        certificateFlag: `cluster-signing-${shortName}-cert-file`,
        keyFlag: `cluster-signing-${shortName}-key-file`,
      }),
    ),
    signerConfigurationFile: values["signer-config"],
    approvalPolicyFile: values["approval-policy"],
    recordRetentionMilliseconds: values["issued-certificate-retention"],
    revocation: revocationSettings(values),
  };
}

const hourMilliseconds = 3_600_000;
const longestListHours = 720;

function revocationSettings(values: FlagValues<typeof certificateFlags>): RevocationSettings | undefined {
  const { "revocation-url": url, "crl-lifetime": listLifetimeMilliseconds, "crl-sharding": isSharded } = values;
  if (listLifetimeMilliseconds < hourMilliseconds || listLifetimeMilliseconds > longestListHours * hourMilliseconds) {
    throw new UsageError(`--crl-lifetime must be between 1h and ${longestListHours}h`);
  }
  if (url === undefined) {
    if (isSharded) throw new UsageError("--crl-sharding needs --revocation-url: without it no list is published");
    return undefined;
  }
  const fault = revocationUrlFault(url);
  if (fault !== undefined) throw new UsageError(`--revocation-url ${fault}`);
  return { url: url.replace(/\/$/, ""), listLifetimeMilliseconds, isSharded };
}

const longestUrl = 256;

/** Why a URL cannot be the start of the addresses in certificates. */
export function revocationUrlFault(text: string): string | undefined {
  const url = URL.parse(text);
  const isPlain =
    url !== null &&
    ["http:", "https:"].includes(url.protocol) &&
    url.username + url.password === "" &&
    /^[!-~]+$/.test(text) &&
    !/[?#"<>\\^`{|}]/.test(text) &&
    text.length <= longestUrl;
  return isPlain ? undefined : `must be a URL such as http://pki.example.com, of at most ${longestUrl} characters`;
}
