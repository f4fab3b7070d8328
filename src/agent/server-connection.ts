import type { Clock } from "../machinery/api/clock.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { httpsTransport } from "../machinery/client/https-transport.ts";
import type { TlsCredentials } from "../machinery/client/https-transport.ts";
import type { ClientResponse, Transport } from "../machinery/client/transport.ts";
import type { ClientCertificate, ServerAccess } from "./agent-settings.ts";
import type { RequestIdentity } from "./certificate-renewal.ts";
import type { KeyPair } from "./key-pair.ts";
import type { ServerClock } from "./server-clock.ts";

export interface ServerConnectionOptions {
  readonly access: ServerAccess;
  /** The client certificate in use now. */
  readonly clientCertificate: () => KeyPair | undefined;
  readonly serverClock: ServerClock;
  readonly localClock: Clock;
  readonly userAgent: string;
}

/** Without an answer for so long, a request failed. */
const timeoutMilliseconds = 10_000;

/**
 * The agent's clients, one for each identity. Credentials are read for each request: a renewed certificate or CA is used
 * from the next request on, and none that runs is disturbed.
 */
export class ServerConnection {
  readonly node: ApiClient;
  readonly bootstrap: ApiClient;
  readonly #options: ServerConnectionOptions;
  #refused: KeyPair | undefined;

  constructor(options: ServerConnectionOptions) {
    this.#options = options;
    const { access, clientCertificate } = options;
    const { bootstrap } = access;
    const introduction =
      bootstrap.type === "certificate" ? { certificate: bootstrap.certificate, key: bootstrap.key } : undefined;
    const pairs = new WeakMap<KeyPair, ClientCertificate>();
    const shown = (): ClientCertificate | undefined => {
      const pair = clientCertificate();
      if (pair === undefined) return undefined;
      const certificate = pairs.get(pair) ?? { certificate: pair.certificatePem, key: pair.keyPem };
      pairs.set(pair, certificate);
      return certificate;
    };
    this.node = this.#client({
      clientCertificate: shown,
      onSend: () => {
        const pair = clientCertificate();
        return ({ status }) => {
          if (status === 401) this.#refused = pair;
          else if (pair === this.#refused) this.#refused = undefined;
        };
      },
    });
    this.bootstrap = this.#client({
      clientCertificate: () => introduction,
      ...(bootstrap.type === "token" && { bearerToken: bootstrap.token }),
      // Neither is good: the certificate is tried again too, since perhaps the server was wrong for a moment.
      onSend: () => (response) => {
        if (response.status === 401) this.#refused = undefined;
      },
    });
  }

  /** Whether there is something to introduce oneself with. */
  get hasBootstrap(): boolean {
    const { bootstrap } = this.#options.access;
    return bootstrap.type === "token" ? bootstrap.token() !== undefined : bootstrap.type === "certificate";
  }

  /** Whether the server's last answer to a client certificate was 401. */
  isRefused(pair: KeyPair | undefined): boolean {
    return pair !== undefined && pair === this.#refused;
  }

  as(identity: RequestIdentity): ApiClient {
    return identity === "node" ? this.node : this.bootstrap;
  }

  close(): void {
    this.node.close();
    this.bootstrap.close();
  }

  #client({ clientCertificate, bearerToken, onSend }: ClientIdentity): ApiClient {
    const { access, serverClock, localClock, userAgent } = this.#options;
    const { server, serverName } = access;
    const transport = httpsTransport({
      server,
      tlsCredentials: currentCredentials(access.caCertificates, clientCertificate),
      ...(serverName !== undefined && { serverName }),
      ...(bearerToken !== undefined && { bearerToken }),
      timeoutMilliseconds,
      userAgent,
    });
    return new ApiClient(
      observed(transport, () => {
        const sentAt = localClock.now();
        const onResponse = onSend?.();
        return (response) => {
          serverClock.observe(response, sentAt);
          onResponse?.(response);
        };
      }),
    );
  }
}

/** Called before a request; what it returns is called with the answer. */
type ObserveRequest = () => (response: ClientResponse) => void;

interface ClientIdentity {
  readonly clientCertificate: () => ClientCertificate | undefined;
  readonly bearerToken?: () => string | undefined;
  readonly onSend?: ObserveRequest;
}

/** The credentials of now: the same object as long as nothing changed, since another one opens new connections. */
function currentCredentials(
  readCa: ServerAccess["caCertificates"],
  readCertificate: () => ClientCertificate | undefined,
): () => TlsCredentials {
  let credentials: TlsCredentials = {};
  return () => {
    const caCertificates = readCa();
    const clientCertificate = readCertificate();
    if (caCertificates !== credentials.caCertificates || clientCertificate !== credentials.clientCertificate) {
      credentials = {
        ...(caCertificates !== undefined && { caCertificates }),
        ...(clientCertificate !== undefined && { clientCertificate }),
      };
    }
    return credentials;
  };
}

const observed = (transport: Transport, onSend: ObserveRequest): Transport => ({
  async send(request) {
    const onResponse = onSend();
    const response = await transport.send(request);
    onResponse(response);
    return response;
  },
  close: () => transport.close(),
});
