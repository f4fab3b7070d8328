import type { LogSettings } from "../machinery/files/lines/process-log.ts";
import type { CaSource } from "../machinery/client/https/connection-fault.ts";
import type { TlsCredentials } from "../machinery/client/https/tls-options.ts";
import type { KeyType } from "../pki/keys/keys.ts";
import type { CertificateOutput } from "./files/certificate-output.ts";

/** The credential of a machine that has no certificate yet. `source` tells people where it comes from. */
export type BootstrapCredential =
  | { readonly type: "none" }
  | {
      /** `token file`: the source is the path of a file that contains only the token. */
      readonly type: "token" | "token file";
      readonly source: string;
      /** Read for each request, so that a new token is used at once. Undefined while there is none. */
      readonly token: () => string | undefined;
    }
  | { readonly type: "certificate"; readonly source: string; readonly certificate: string; readonly key: string };

export interface ServerAccess {
  /** `https://host:port`, in the order in which they are tried; at least one. */
  readonly servers: readonly string[];
  /** PEM of the CAs that the server's certificate must chain to, read for each request; undefined: the system's CAs. */
  readonly caCertificates: () => string | undefined;
  /** Where the CAs come from, for messages. */
  readonly caSource?: CaSource;
  /** The name that the server's certificate must be valid for, if that is not the host's name. */
  readonly serverName?: string;
  /** The proxy for all servers. It takes precedence over the environment. */
  readonly proxyUrl?: string;
  /** The kubeconfig, the PEM files that it names, and the files of `bootstrap`: when one changes, all settings are read again. */
  readonly followedFiles: readonly string[];
  readonly bootstrap: BootstrapCredential;
}

/** A command of the operator that is run by `sh -c` after files have changed. */
export interface Hook {
  readonly command: string;
  /** Run before the command. When the check fails, the command is not run, and both are tried again later. */
  readonly check: string | undefined;
  /** The check and the command are each ended after this time. */
  readonly timeoutMilliseconds: number;
}

/** A key store that contains no keys but certificates, for programs that do not read PEM. */
export interface TrustStoreFormat {
  readonly type: "pkcs12" | "jks";
  /** The file with the password. Undefined: the password is the default of Java's own tools. */
  readonly passwordFile: string | undefined;
  /** Returns the password, from the file or the default. */
  readonly password: () => string;
}

/** A file with the anchors of one bundle, or of all bundles of a signer. */
export interface TrustBundleFile {
  readonly source: { readonly bundleName: string } | { readonly signerName: string };
  readonly file: string;
  /** Undefined: the file is PEM. */
  readonly store?: TrustStoreFormat;
  readonly hook: Hook | undefined;
}

/** A certificate of a service on the machine. In names, `${node}` and `${address}` stand for the machine's own. */
export interface ServiceCertificate {
  readonly name: string;
  readonly signerName: string;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly usages: readonly string[];
  readonly keyType: KeyType;
  /** Undefined: the lifetime that the signer chooses. */
  readonly lifetimeSeconds: number | undefined;
  /** The share of its lifetime after which a certificate is renewed; undefined: a random one from 0.7 to 0.9. */
  readonly renewalShare: number | undefined;
  readonly outputs: readonly CertificateOutput[];
  readonly hook: Hook | undefined;
}

export interface AgentSettings extends ServerAccess {
  readonly nodeName: string;
  /** Contains keys and certificates; 0700. */
  readonly dataDirectory: string;
  readonly listenAddress: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Empty: the address from which the machine reaches the server. */
  readonly nodeIpAddresses: readonly string[];
  /** The DNS names of the machine besides the node's name. */
  readonly dnsNames: readonly string[];
  readonly trustBundles: readonly TrustBundleFile[];
  readonly certificates: readonly ServiceCertificate[];
  /** The hook for the node's own certificates, and for every file that has no hook of its own. */
  readonly hook: Hook | undefined;
  readonly log: LogSettings;
  /** How long others may consider the node alive after a renewal of its Lease. */
  readonly leaseDurationSeconds: number;
  /** The lifetime to request for the node's own certificates; undefined: the signer chooses. */
  readonly certificateLifetimeSeconds: number | undefined;
}

export type ClientCertificate = NonNullable<TlsCredentials["clientCertificate"]>;
