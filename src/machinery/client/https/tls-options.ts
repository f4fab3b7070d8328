import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { addressOf } from "../../api/addresses/url-host.ts";

/** The CAs to trust and the client certificate to present on a connection. */
export interface TlsCredentials {
  /** PEM of the CAs that the server's certificate must chain to. Default: the system's CAs. */
  readonly caCertificates?: string;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
}

/** Where a server is, and how its certificate is verified. */
export interface TlsServer {
  /** `https://host:port`, optionally with a path prefix. */
  readonly server: string;
  /** The name or address that the server's certificate must be valid for, if it is not the URL's host. */
  readonly serverName?: string;
  /** For development only: accepts any server certificate. */
  readonly skipsServerVerification?: boolean;
  /** `http://…` or `https://…`: the proxy for this server, in place of the environment's. */
  readonly proxyUrl?: string;
}

/** How to open a TLS connection to a server. */
export function tlsOptions(
  { server, serverName, skipsServerVerification }: TlsServer,
  { caCertificates, clientCertificate }: TlsCredentials,
): ConnectionOptions {
  const { host, port } = addressOf(server);
  const name = serverName ?? host;
  return {
    host,
    port,
    // A server name is never an address (RFC 6066 section 3).
    servername: isIP(name) === 0 ? name : "",
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
    // As in Go, each of these certificates is a trust anchor, also one that is not a root.
    ...(caCertificates !== undefined && { ca: caCertificates, allowPartialTrustChain: true }),
    ...(clientCertificate !== undefined && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    rejectUnauthorized: skipsServerVerification !== true,
  };
}
