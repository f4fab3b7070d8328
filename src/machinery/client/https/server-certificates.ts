import { once } from "node:events";
import https from "node:https";
import type { TLSSocket } from "node:tls";
import { currentCredentials } from "./https-transport.ts";
import type { HttpsTransportOptions } from "./https-transport.ts";
import { ProxyAgent, proxyFault } from "./proxy-agent.ts";
import { tlsOptions } from "./tls-options.ts";

/**
 * The certificates that a server presents, as DER: its own, then the known part of its chain. They are verified as for any request, on a
 * connection through the same proxy. Rejects with a TimeoutError when no connection is established in time.
 */
export async function serverCertificates(
  options: HttpsTransportOptions,
  timeoutMilliseconds: number,
): Promise<Buffer[]> {
  const { caCertificates } = currentCredentials(options);
  const agent = new ProxyAgent(options, tlsOptions(options, caCertificates === undefined ? {} : { caCertificates }));
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  // Only its connection is needed. The request is not sent, because `end` is not called.
  const request = https.request({ agent, signal }).on("error", () => {});
  agent.boundTunnel(request, { signal, milliseconds: timeoutMilliseconds, onEnded: () => {} });
  try {
    const [socket] = (await once(request, "socket", { signal })) as [TLSSocket]; // as Node.js documents it for HTTPS
    // Through a proxy, the handshake is complete already.
    if (socket.getFinished() === undefined) await once(socket, "secureConnect", { signal });
    return certificatesOf(socket);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw request.socket === null && error instanceof Error ? proxyFault(error) : error;
  } finally {
    request.destroy();
  }
}

function certificatesOf(socket: TLSSocket): Buffer[] {
  const shown: Buffer[] = [];
  let next = socket.getPeerCertificate(true);
  // A root certificate is its own issuer.
  while (next?.raw !== undefined && !shown.some((one) => one.equals(next.raw))) {
    shown.push(next.raw);
    next = next.issuerCertificate;
  }
  return shown;
}
