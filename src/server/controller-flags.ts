import { controllerNames } from "../machinery/api/controller-names.ts";
import type { FlagValues, Flags } from "../machinery/command-line/flag.ts";

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
  "cluster-signing-apiserver-client-cert-file": {
    type: "file",
    help: "The same for the signer apiserver-client (kube-apiserver-client) alone.",
  },
  "cluster-signing-apiserver-client-key-file": { type: "file", help: "PEM private key of that CA." },
  "cluster-signing-nodeagent-client-cert-file": {
    type: "file",
    help: "The same for the signer apiserver-client-nodeagent (kube-apiserver-client-kubelet) alone.",
  },
  "cluster-signing-nodeagent-client-key-file": { type: "file", help: "PEM private key of that CA." },
  "cluster-signing-nodeagent-serving-cert-file": {
    type: "file",
    help: "The same for the signer nodeagent-serving (kubelet-serving) alone.",
  },
  "cluster-signing-nodeagent-serving-key-file": { type: "file", help: "PEM private key of that CA." },
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
