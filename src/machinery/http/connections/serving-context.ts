import { constants } from "node:crypto";
import { PassThrough } from "node:stream";
import { createSecureContext, TLSSocket } from "node:tls";
import type { SecureContext, SecureContextOptions } from "node:tls";

/** A PEM certificate chain and its PEM private key. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The TLS versions, ciphers and groups that a listener offers in a handshake. */
export interface TlsProtocol {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names, also of TLS 1.3, separated by colons. The first one that the client supports is used. Default: the runtime's. */
  readonly ciphers?: string;
  /** OpenSSL's names of the groups for the key exchange, separated by colons. Default: the runtime's. */
  readonly ecdhCurve?: string;
}

/** The protocols that a listener offers after the handshake, best first (RFC 7301). */
export const alpnProtocols: string[] = ["h2", "http/1.1"];

/** The options of every TLS context of a listener: of its default context, and of the contexts for server names. */
export const servingContextOptions = (
  { cert, key }: ServingCertificate,
  protocol: TlsProtocol,
): SecureContextOptions => ({
  cert,
  key,
  ...protocol,
  // An empty list of CAs: otherwise Node.js loads its own root certificates.
  ca: [],
  // A resumed session could skip what a full handshake proves: the ticket does not contain the peer's chain.
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
});

/** The context of a certificate for server names. Throws when certificate and key do not match. */
export function createNamedContext(certificate: ServingCertificate, protocol: TlsProtocol): SecureContext {
  const secureContext = createSecureContext(servingContextOptions(certificate, protocol));
  // The first server socket of a context sets the protocols to choose from. Without it, a handshake with a HelloRetryRequest
  // (RFC 8446 4.1.4) would not negotiate HTTP/2, because it continues with this context.
  new TLSSocket(new PassThrough(), { isServer: true, secureContext, ALPNProtocols: alpnProtocols }).destroy();
  return secureContext;
}
