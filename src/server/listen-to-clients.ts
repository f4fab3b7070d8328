import type { Handler } from "../machinery/api/http-message.ts";
import { urlHost } from "../machinery/api/addresses/url-host.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { createListener } from "../machinery/http/connections/listener.ts";
import { openAdministrator } from "./administrator.ts";
import type { ServerState } from "./compose-handler.ts";
import type { ConnectedFeatures } from "./connect-features.ts";
import { connectionLimit, openFileLimit } from "./open-file-limit.ts";
import type { OpenedServer } from "./open-server.ts";
import type { ServerConfig } from "./settings/server-config.ts";

interface ListenOptions {
  readonly opened: OpenedServer;
  readonly connected: ConnectedFeatures;
  /** The stack of everything that must be closed when the server stops. */
  readonly opening: AsyncDisposableStack;
  readonly state: ServerState;
  readonly handler: Handler;
  readonly client: ApiClient;
  /** Whether other processes of this server listen on the same port. */
  readonly isPortShared: boolean;
  /** The descriptor of a listening socket, which replaces the address and port of the settings. */
  readonly passedSocket: number | undefined;
}

/** The stage "Serve" of a start: listens, and writes the administrator's kubeconfig with the actual address. */
export async function listenToClients(
  config: ServerConfig,
  { opened, connected, opening, state, handler, client, isPortShared, passedSocket }: ListenOptions,
) {
  const { shared, folder, stores, authorities, revocation, certificate } = opened;
  const { status } = connected;
  const { host, advertisedHost } = config.listener;
  const listener = opening.adopt(
    createListener({
      handler,
      log: shared.log,
      certificate: certificate.current(),
      tls: certificate.tls,
      limits: {
        connections: connectionLimit(config.listener.maximumConnections, openFileLimit()),
        connectionsPerAddress: config.listener.maximumConnectionsPerAddress,
      },
    }),
    (made) => made.close({ graceMilliseconds: state.graceMilliseconds }),
  );
  state.openStreams = () => listener.openStreams();
  certificate.onRenewed((renewed) => listener.setCertificate(renewed));
  const port = await listener.listen(
    passedSocket === undefined ? { host, port: config.listener.port, isPortShared } : { fileDescriptor: passedSocket },
  );
  state.url = `https://${urlHost(advertisedHost)}:${port}`;
  folder.describe(state.url);
  const plain = opening.adopt(await status?.listen({ ...config.listener, isPortShared }), (made) => made?.close());
  const administrator = await openAdministrator({
    ...shared,
    client,
    stores,
    revocation,
    caCertificates: () => certificate.caCertificates(),
    server: state.url,
    authority: () => authorities.own.administrator.current(),
    onAuthorityChange(listener) {
      certificate.onCaChange(listener);
      authorities.own.administrator.onChange(listener);
    },
    lifetimeMilliseconds: config.listener.administratorLifetimeMilliseconds,
    revocationSettings: config.controllers.certificates.revocation,
  });
  if (config.listener.certificate === undefined) {
    const shown = (): string => certificate.current().cert;
    opening.adopt(await status?.keepRecordOf(shown, revocation), (looks) => looks?.stop());
  }
  return { port, revocationHttpUrl: plain?.url, administrator };
}
