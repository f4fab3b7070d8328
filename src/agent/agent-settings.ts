import type { TlsCredentials } from "../machinery/client/https-transport.ts";

/** With what a machine introduces itself as long as it has no certificate of its own. */
export type BootstrapCredential =
  | { readonly type: "none" }
  /** Read for each request, so that a new token is used at once. Undefined while there is none. */
  | { readonly type: "token"; readonly token: () => string | undefined }
  | { readonly type: "certificate"; readonly certificate: string; readonly key: string };

export interface ServerAccess {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM of the CAs that the server's certificate must chain to, read for each request; undefined: the system's. */
  readonly caCertificates: () => string | undefined;
  /** The name that the server's certificate must be valid for, where it is not the host's. */
  readonly serverName?: string;
  readonly bootstrap: BootstrapCredential;
}

/** A file with the anchors of one bundle, or of all bundles of a signer. */
export interface TrustBundleFile {
  readonly source: { readonly bundleName: string } | { readonly signerName: string };
  readonly file: string;
}

/** What `signet agent` is told. */
export interface AgentSettings extends ServerAccess {
  readonly nodeName: string;
  /** Keys and certificates are kept in it; 0700. */
  readonly dataDirectory: string;
  readonly listenAddress: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Empty: the address that the machine reaches the server from. */
  readonly nodeIpAddresses: readonly string[];
  /** Besides the node's name. */
  readonly dnsNames: readonly string[];
  readonly trustBundles: readonly TrustBundleFile[];
  /** Run by `sh -c` whenever a file was written. */
  readonly changeCommand: string | undefined;
  readonly logLevel: string;
  /** How long certificates are asked for; undefined: as long as the signer gives. */
  readonly certificateLifetimeSeconds: number | undefined;
}

export type ClientCertificate = NonNullable<TlsCredentials["clientCertificate"]>;
