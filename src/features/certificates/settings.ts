import { controllerNames } from "../machinery/api/controller-names.ts";
import { kubernetesNames, platformNames } from "../machinery/api/names.ts";
import { wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import type { SignerWord } from "../features/certificates/signers/well-known-signers.ts";
import type { FlagValues, Flags } from "../machinery/command-line/flag.ts";

interface FileFlag {
  readonly type: "file";
  readonly help: string;
}

type SignerFlags = Readonly<Record<`cluster-signing-${SignerWord}-${"cert" | "key"}-file`, FileFlag>>;

/** `signer-name` of `example.com/signer-name`. */
const pathOf = (signerName: string): string => signerName.slice(signerName.indexOf("/") + 1);

const fileFlagsOf = (signer: (typeof wellKnownSigners)[number]): readonly (readonly [string, FileFlag])[] => {
  const [name, upstreamName] = [platformNames, kubernetesNames].map((names) => pathOf(signer.nameIn(names)));
  const help = `The same for the signer ${name} (${upstreamName}) alone.`;
  return [
    [`cluster-signing-${signer.word}-cert-file`, { type: "file", help }],
    [`cluster-signing-${signer.word}-key-file`, { type: "file", help: "PEM private key of that CA." }],
  ];
};

// `fromEntries` forgets which keys there are: two of each word.
const signerFlags = Object.fromEntries(wellKnownSigners.flatMap(fileFlagsOf)) as SignerFlags;

/** The settings of the loops, most of them for certificates: of `signet serve`, and of `signet controllers`. */
export const controllerFlags = {
  controllers: {
    type: "strings",
    default: ["*"],
    help:
      "The controllers to run in this process: * is every one, NAME switches one on, -NAME off; false is none. " +
      `Names: ${controllerNames.join(", ")}.`,
  },
  "cluster-signing-duration": {
    type: "duration",
    default: "8760h",
    help: "The longest validity of a signed certificate.",
  },
  "cluster-signing-cert-file": {
    type: "file",
    help: "PEM certificate of the CA that signs requests, then its chain. Default: each signer's own in the data directory. Read again when it changes.",
  },
  "cluster-signing-key-file": { type: "file", help: "PEM private key of that CA." },
  ...signerFlags,
  "signer-config": {
    type: "file",
    help: "YAML file of signers of your own: names, CAs, rules. Default: none. Read again when it changes.",
  },
  "approval-policy": {
    type: "file",
    help: "YAML rules that approve or deny certificate requests. Default: none. Read again when it changes.",
  },
  "issued-certificate-retention": {
    type: "duration",
    default: "720h",
    help: "How long the record of a certificate is kept after the certificate has ended.",
  },
  "leader-elect": {
    type: "boolean",
    default: true,
    help: "Run the controllers only while holding their Lease, so that of several servers one does.",
  },
} as const satisfies Flags;

export type ControllerOptions = FlagValues<typeof controllerFlags>;
