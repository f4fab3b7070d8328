import { createSecureContext } from "node:tls";
import { UsageError } from "../../machinery/command-line/flag.ts";
import type { ServingCertificate, TlsProtocol } from "../../machinery/http/serving-context.ts";
import { parseCertificatesPem } from "../../pki/trust-anchors.ts";
import type { TlsProtocolSettings } from "./tls-protocol-settings.ts";

/** Throws UsageError when this Node.js was built with an OpenSSL that lacks one of the groups. */
export function checkGroups({ ecdhCurve }: TlsProtocol): void {
  if (ecdhCurve === undefined) return;
  for (const group of ecdhCurve.split(":")) {
    try {
      createSecureContext({ ecdhCurve: group, ca: [] });
    } catch (cause) {
      const library = `OpenSSL ${process.versions.openssl}`;
      throw new UsageError(`--tls-curve-preferences: ${library} of this Node.js has no ${group}: leave it out`, {
        cause,
      });
    }
  }
}

/** What some clients cannot do with this choice of suites for TLS 1.2. */
export function tlsWarnings(
  { protocol, keysOfTls12, isHttp2AllowedWithTls12 }: TlsProtocolSettings,
  { cert }: ServingCertificate,
): string[] {
  if (protocol.minVersion === "TLSv1.3") return [];
  const algorithm = parseCertificatesPem(cert)[0]?.publicKey.algorithm;
  // Ed25519 keys sign in the suites of ECDSA (RFC 8422 5.1.1).
  const isKeyUsable = algorithm === undefined || keysOfTls12.has(algorithm === "RSA" ? "RSA" : "ECDSA");
  return [
    ...(isHttp2AllowedWithTls12
      ? []
      : [
          "--tls-cipher-suites has only suites that HTTP/2 forbids (RFC 9113 appendix A): clients with TLS 1.2 may refuse HTTP/2; add one with GCM or CHACHA20",
        ]),
    ...(isKeyUsable
      ? []
      : [
          `--tls-cipher-suites has no suite for the ${algorithm} key of the serving certificate: clients with TLS 1.2 cannot connect`,
        ]),
  ];
}
