import type { HttpsTransportOptions } from "../../../machinery/client/https-transport.ts";
import { serverCertificates } from "../../../machinery/client/server-certificates.ts";
import { connectionFailure } from "../../../machinery/command-line/connection-failure.ts";
import { parseCertificate } from "../../../pki/certificate.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";
import { serverIdentity } from "../signers/server-identity.ts";
import type { ServerIdentity } from "../signers/server-identity.ts";

const longestHandshakeMilliseconds = 10_000;

/**
 * The identity of a server as its clients see it: its serving certificate, and the CA and names in the kubeconfig. Throws
 * CommandFailure when there is no connection within the timeout, and within ten seconds.
 */
export async function identityOfServer(
  transport: HttpsTransportOptions,
  timeoutMilliseconds = longestHandshakeMilliseconds,
): Promise<ServerIdentity> {
  const longest = timeoutMilliseconds === 0 ? longestHandshakeMilliseconds : timeoutMilliseconds;
  const shown = await serverCertificates(transport, Math.min(longest, longestHandshakeMilliseconds)).catch(
    (error: unknown) => {
      throw connectionFailure(error, transport.server);
    },
  );
  const { hostname } = new URL(transport.server);
  return serverIdentity({
    shown: shown.map((der) => parseCertificate(der)),
    trusted: parseCertificatesPem(transport.caCertificates ?? ""),
    hosts: [hostname.replace(/^\[|\]$/g, ""), ...(transport.serverName === undefined ? [] : [transport.serverName])],
  });
}
