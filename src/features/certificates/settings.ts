import { kubernetesNames, platformNames } from "../../machinery/api/names.ts";
import { bySigner, wellKnownSigners } from "./signers/well-known-signers.ts";
import type { SignerShortName } from "./signers/well-known-signers.ts";
import { keyPairFiles } from "../../machinery/command-line/flag.ts";
import type { FlagValues, Flags, KeyPairFiles } from "../../machinery/command-line/flag.ts";

export interface FileFlag {
  readonly type: "file";
  readonly isFollowed: true;
  readonly help: string;
}

type SignerFlags = Readonly<Record<`cluster-signing-${SignerShortName}-${"cert" | "key"}-file`, FileFlag>>;

/** `signer-name` of `example.com/signer-name`. */
const pathOf = (signerName: string): string => signerName.slice(signerName.indexOf("/") + 1);

const fileFlagsOf = (signer: (typeof wellKnownSigners)[number]): readonly (readonly [string, FileFlag])[] => {
  const [name, upstreamName] = [platformNames, kubernetesNames].map((names) => pathOf(signer.nameIn(names)));
  const help = `The same, only for the signer ${name} (${upstreamName}).`;
  return [
    [`cluster-signing-${signer.shortName}-cert-file`, { type: "file", isFollowed: true, help }],
    [
      `cluster-signing-${signer.shortName}-key-file`,
      { type: "file", isFollowed: true, help: "PEM private key of that CA." },
    ],
  ];
};

// `fromEntries` does not know the keys: two for each short name.
const signerFlags = Object.fromEntries(wellKnownSigners.flatMap(fileFlagsOf)) as SignerFlags;

/** Of `signet serve`, and of `signet controllers`. */
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
  "cluster-signing-key-file": { type: "file", isFollowed: true, help: "PEM private key of that CA." },
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
} as const satisfies Flags;

export interface CertificateSettings {
  readonly maximumLifetimeMilliseconds: number;
  /** The CA for signers without a CA of their own. */
  readonly authority: KeyPairFiles | undefined;
  readonly authorityOf: Readonly<Record<SignerShortName, KeyPairFiles | undefined>>;
  /** The file with custom signers. */
  readonly signerConfigurationFile: string | undefined;
  readonly approvalPolicyFile: string | undefined;
  readonly recordRetentionMilliseconds: number;
}

/** Throws UsageError for a certificate without its key. */
export function certificateSettings(values: FlagValues<typeof certificateFlags>): CertificateSettings {
  return {
    maximumLifetimeMilliseconds: values["cluster-signing-duration"],
    authority: keyPairFiles(values, "cluster-signing-cert-file", "cluster-signing-key-file"),
    authorityOf: bySigner((shortName) =>
      keyPairFiles(values, `cluster-signing-${shortName}-cert-file`, `cluster-signing-${shortName}-key-file`),
    ),
    signerConfigurationFile: values["signer-config"],
    approvalPolicyFile: values["approval-policy"],
    recordRetentionMilliseconds: values["issued-certificate-retention"],
  };
}
