import { addressOf } from "../../../machinery/api/addresses/url-host.ts";
import { serverCertificates } from "../../../machinery/client/https/server-certificates.ts";
import { currentCredentials } from "../../../machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../../machinery/client/https/https-transport.ts";
import { connectionFailure } from "../../../machinery/command-line/connection/connection-failure.ts";
import { periodically } from "../../../machinery/scheduling/periodically.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { serverIdentity } from "../signers/server-identity.ts";
import type { ServerIdentity } from "../signers/server-identity.ts";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import type { Log } from "../../../machinery/logging/log.ts";

const longestHandshakeMilliseconds = 10_000;

/**
 * The identity of a server as its clients see it: its serving certificate, and the CA and names in the kubeconfig. Throws CommandFailure
 * when there is no connection within the timeout, which is at most ten seconds.
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
  return serverIdentity({
    shown: shown.map((der) => parseCertificate(der)),
    trusted: parseCertificatesPem(currentCredentials(transport).caCertificates ?? ""),
    hosts: [addressOf(transport.server).host, ...(transport.serverName === undefined ? [] : [transport.serverName])],
  });
}

/** How often to read the serving certificate, because its names may have changed. */
const intervalMilliseconds = 60_000;

interface FollowedServerIdentity {
  /** The last identity. Throws while it is unknown; then callers retry. */
  current(): ServerIdentity;
  stop(): void;
}

/** Reads the server's names and CAs from its serving certificate, at once and every minute. */
export function followServerIdentity(
  transport: HttpsTransportOptions,
  log: Pick<Log, "info" | "error">,
): FollowedServerIdentity {
  let known: ServerIdentity | undefined;
  const read = async (): Promise<void> => {
    known = await identityOfServer(transport);
  };
  const onFailure = (error: unknown): void =>
    log.error({ error: messageOf(error) }, "cannot read the server's names from its certificate, will retry");
  read().catch(onFailure);
  const reading = periodically({ milliseconds: intervalMilliseconds, task: read, onFailure });
  return {
    current: () => {
      if (known === undefined) throw new Error("the API server's own names are not known yet");
      return known;
    },
    stop: () => reading.stop(),
  };
}
