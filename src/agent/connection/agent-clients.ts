import { computedOnce } from "../../machinery/api/computed-once.ts";
import type { ApiError } from "../../machinery/api/api-error.ts";
import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import { ApiClient } from "../../machinery/client/api-client.ts";
import { firstReachable } from "../../machinery/client/first-reachable.ts";
import { httpsTransport } from "../../machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../machinery/client/https/https-transport.ts";
import type { TlsCredentials } from "../../machinery/client/https/tls-options.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";
import type { ClientCertificate, ServerAccess } from "../agent-settings.ts";
import { explainedTransport } from "./explained-transport.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { pacedTransport } from "./paced-transport.ts";
import { refusalText, tokenAdvice } from "./refused-credential.ts";
import { setsClock } from "./server-clock.ts";
import type { ServerClock } from "./server-clock.ts";

export interface AgentClientsOptions {
  readonly access: ServerAccess;
  /** The client certificate in use now. */
  readonly clientCertificate: () => KeyPair | undefined;
  readonly serverClock: ServerClock;
  /** A clock that changes of the system time do not affect. */
  readonly monotonic: Clock;
  readonly sleep: Sleep;
  readonly userAgent: string;
  /** Called when the server has answered 401 to a client certificate that it had not refused before. */
  readonly onRefused?: () => void;
  /** Default: over HTTPS. */
  readonly connect?: Connect | undefined;
}

/** Makes the transport to a server. */
export type Connect = (options: HttpsTransportOptions) => Transport;

/** A request fails after this time without an answer. */
const timeoutMilliseconds = 10_000;
/** The largest answer. An agent reads only single objects, and trust bundles of at most a mebibyte each. */
export const largestAnswerBytes = 64 * 2 ** 20;

/**
 * The agent's clients, one for each identity. Credentials are read for each request: the next request uses a renewed certificate or CA, and
 * running requests are not disturbed. The errors of refused requests say which credential was refused.
 */
export class AgentClients {
  readonly node: ApiClient;
  readonly bootstrap: ApiClient;
  readonly #options: AgentClientsOptions;
  /** The client certificate to which the server's last answer was 401. */
  #refused: KeyPair | undefined;
  /** The same certificate, until the bootstrap credential is refused too. */
  #avoided: KeyPair | undefined;

  constructor(options: AgentClientsOptions) {
    this.#options = options;
    const { access, clientCertificate, serverClock, onRefused } = options;
    const { bootstrap } = access;
    const introduction =
      bootstrap.type === "certificate" ? { certificate: bootstrap.certificate, key: bootstrap.key } : undefined;
    const credentialOf = computedOnce(({ certificatePem, keyPem }: KeyPair): ClientCertificate => ({
      certificate: certificatePem,
      key: keyPem,
    }));
    const presented = (): ClientCertificate | undefined => {
      const pair = clientCertificate();
      return pair && credentialOf(pair);
    };
    this.node = this.#client({
      clientCertificate: presented,
      onSend: () => {
        const pair = clientCertificate();
        return ({ status }) => {
          const isNews = status === 401 && pair !== this.#avoided;
          if (status === 401) this.#refused = this.#avoided = pair;
          else if (pair === this.#refused) this.#refused = this.#avoided = undefined;
          if (isNews) onRefused?.();
        };
      },
      explain: (error) =>
        refusalText(error, {
          type: "node certificate",
          pair: clientCertificate(),
          now: serverClock.now(),
          next: this.hasBootstrap ? "the bootstrap credential is used" : tokenAdvice(bootstrap),
        }),
    });
    this.bootstrap = this.#client({
      clientCertificate: () => introduction,
      ...("token" in bootstrap && { bearerToken: bootstrap.token }),
      // When both credentials are refused, the certificate is tried again too: the server may have been wrong for a moment.
      onSend: () => (response) => {
        if (response.status === 401) this.#avoided = undefined;
      },
      explain: (error) => refusalText(error, { ...bootstrap, isOfKnownNode: clientCertificate() !== undefined }),
    });
  }

  /** Whether there is a bootstrap credential. */
  get hasBootstrap(): boolean {
    const { bootstrap } = this.#options.access;
    return "token" in bootstrap ? bootstrap.token() !== undefined : bootstrap.type === "certificate";
  }

  /** Whether the server's last answer to a client certificate was 401. */
  isRefused(pair: KeyPair | undefined): boolean {
    return pair !== undefined && pair === this.#refused;
  }

  /** Whether to use the bootstrap credential instead of a refused client certificate. The two are tried in turn. */
  shouldUseBootstrap(pair: KeyPair | undefined): boolean {
    return pair !== undefined && pair === this.#avoided;
  }

  close(): void {
    this.node.close();
    this.bootstrap.close();
  }

  #client({ clientCertificate, bearerToken, onSend, explain }: ClientIdentity): ApiClient {
    const { access, serverClock, monotonic, sleep, userAgent, connect = httpsTransport } = this.#options;
    const { servers, serverName, proxyUrl, caSource } = access;
    const tlsCredentials = currentCredentials(access.caCertificates, clientCertificate);
    const transports = servers.map((server) =>
      explainedTransport(
        connect({
          server,
          tlsCredentials,
          ...(serverName !== undefined && { serverName }),
          ...(proxyUrl !== undefined && { proxyUrl }),
          ...(bearerToken !== undefined && { bearerToken }),
          timeoutMilliseconds,
          largestAnswerBytes,
          userAgent,
        }),
        { server, caSource },
      ),
    );
    const timed = setsClock(firstReachable(transports, { monotonic }), serverClock);
    const read = pacedTransport(observed(timed, onSend), { monotonic, sleep });
    return new ApiClient(read, { explain });
  }
}

/** Called before a request. The returned function is called with the answer. */
type ObserveRequest = () => (response: ClientResponse) => void;

interface ClientIdentity {
  readonly clientCertificate: () => ClientCertificate | undefined;
  readonly bearerToken?: () => string | undefined;
  readonly onSend: ObserveRequest;
  readonly explain: (error: ApiError) => string;
}

/** The present credentials. Returns the same object until one of them changes, because a new object opens new connections. */
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
