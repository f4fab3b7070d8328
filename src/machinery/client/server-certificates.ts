import { once } from "node:events";
import { connect } from "node:tls";
import type { HttpsTransportOptions } from "./https-transport.ts";
import { tlsOptions } from "./tls-options.ts";

/**
 * The certificates that a server presents, as DER: its own, then as much of its chain as is known. They are verified as
 * for any request. Rejects with a TimeoutError when no connection is established in time.
 */
export async function serverCertificates(
  options: HttpsTransportOptions,
  timeoutMilliseconds: number,
): Promise<Buffer[]> {
  const { caCertificates } = options.tlsCredentials?.() ?? options;
  const socket = connect(tlsOptions(options, caCertificates === undefined ? {} : { caCertificates }));
  const timeout = AbortSignal.timeout(timeoutMilliseconds);
  try {
    await once(socket, "secureConnect", { signal: timeout });
    const shown: Buffer[] = [];
    let next = socket.getPeerCertificate(true);
    // A root certificate is its own issuer.
    while (next?.raw !== undefined && !shown.some((one) => one.equals(next.raw))) {
      shown.push(next.raw);
      next = next.issuerCertificate;
    }
    return shown;
  } catch (error) {
    throw timeout.aborted ? timeout.reason : error;
  } finally {
    socket.destroy();
  }
}
