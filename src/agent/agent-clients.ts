import { computedOnce } from "../machinery/api/computed-once.ts";
import { ApiError } from "../machinery/api/api-error.ts";
import type { Clock, Sleep } from "../machinery/api/clock.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { connectionFault } from "../machinery/client/connection-fault.ts";
import type { CaSource } from "../machinery/client/connection-fault.ts";
import { explainedBody } from "../machinery/client/explained-body.ts";
import { firstReachable } from "../machinery/client/first-reachable.ts";
import { httpsTransport } from "../machinery/client/https-transport.ts";
import type { HttpsTransportOptions } from "../machinery/client/https-transport.ts";
import { lacksPermission } from "../machinery/client/lacks-permission.ts";
import type { TlsCredentials } from "../machinery/client/tls-options.ts";
import type { ClientResponse, Transport } from "../machinery/client/transport.ts";
import type { ClientCertificate, ServerAccess, BootstrapCredential } from "./agent-settings.ts";
import type { AgentIdentity } from "./certificate-renewal.ts";
import type { KeyPair } from "./key-pair.ts";
import { pacedTransport } from "./paced-transport.ts";
import { setsClock } from "./server-clock.ts";
import type { ServerClock } from "./server-clock.ts";
import { serialNumberHex } from "../pki/certificate.ts";

export interface AgentClientsOptions {
  readonly access: ServerAccess;
  /** The client certificate in use now. */
  readonly clientCertificate: () => KeyPair | undefined;
  readonly serverClock: ServerClock;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly sleep: Sleep;
  readonly userAgent: string;
  /** Called when the server has answered 401 to a client certificate that it accepted until then, as far as is known. */
  readonly onRefused?: () => void;
  /** Default: over HTTPS. */
  readonly connect?: Connect | undefined;
}

/** Makes the transport to a server. */
export type Connect = (options: HttpsTransportOptions) => Transport;

/** A request fails after this time without an answer. */
const timeoutMilliseconds = 10_000;
/** An agent reads single objects, and trust bundles of a mebibyte at most. */
export const largestAnswerBytes = 64 * 2 ** 20;

/**
 * The agent's clients, one for each identity. Credentials are read for each request: a renewed certificate or CA is used from
 * the next request on, and running requests are not disturbed. The errors of refused requests say which credential was
 * refused.
 */
export class AgentClients {
  readonly node: ApiClient;
  readonly bootstrap: ApiClient;
  readonly #options: AgentClientsOptions;
  #refused: KeyPair | undefined;

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
          const isNews = status === 401 && pair !== this.#refused;
          if (status === 401) this.#refused = pair;
          else if (pair === this.#refused) this.#refused = undefined;
          if (isNews) onRefused?.();
        };
      },
      explain: (error) =>
        refusalText(error, {
          type: "node certificate",
          pair: clientCertificate(),
          now: serverClock.now(),
          next: this.hasBootstrap ? "the bootstrap credential is used" : wayOfToken(bootstrap),
        }),
    });
    this.bootstrap = this.#client({
      clientCertificate: () => introduction,
      ...("token" in bootstrap && { bearerToken: bootstrap.token }),
      // Both credentials are refused: try the certificate again too, since the server may have been wrong for a moment.
      onSend: () => (response) => {
        if (response.status === 401) this.#refused = undefined;
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

  as(identity: AgentIdentity): ApiClient {
    return identity === "node" ? this.node : this.bootstrap;
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
      explained(
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

/** There was no answer. The message names the server, and says why and what to do. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
  readonly reason: string;

  constructor(server: string, { reason, cause }: { readonly reason: string; readonly cause?: Error }) {
    super(`cannot reach the server ${server}: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** Called before a request; what it returns is called with the answer. */
type ObserveRequest = () => (response: ClientResponse) => void;

interface ClientIdentity {
  readonly clientCertificate: () => ClientCertificate | undefined;
  readonly bearerToken?: () => string | undefined;
  readonly onSend: ObserveRequest;
  readonly explain: (error: ApiError) => string;
}

/** The present credentials: the same object until one changes, because another object opens new connections. */
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

/** Its failures name the server, and say what to do. */
const explained = (
  transport: Transport,
  { server, caSource }: { readonly server: string; readonly caSource: CaSource },
): Transport => ({
  async send(request) {
    const explain = (error: unknown): unknown => {
      if (!(error instanceof Error) || request.signal?.aborted === true) return error;
      const fault = connectionFault(error, caSource);
      return fault === undefined ? error : new ServerUnreachable(server, { reason: fault.text, cause: error });
    };
    try {
      const response = await transport.send(request);
      if (isPage(response)) {
        for await (const _ of response.body) break; // ends the request: a page in place of a watch may be endless
        throw new ServerUnreachable(server, { reason: pageAdvice });
      }
      return { ...response, body: explainedBody(response.body, explain) };
    } catch (error) {
      throw explain(error);
    }
  },
  close: () => transport.close(),
});

/** A success or redirection of a proxy, or of a login before the network: no API server answers with one. */
const isPage = ({ status, headers }: ClientResponse): boolean =>
  status < 400 && /^text\/html\b/i.test(String(headers["content-type"]));

const pageAdvice =
  "a web page came in place of its answer, as of a proxy or a login; check the server's URL, and the proxy";

const observed = (transport: Transport, onSend: ObserveRequest): Transport => ({
  async send(request) {
    const onResponse = onSend();
    const response = await transport.send(request);
    onResponse(response);
    return response;
  },
  close: () => transport.close(),
});

/** The credential of a request. */
type UsedCredential =
  | (BootstrapCredential & {
      /** The node has had a certificate, so its Node may exist. */
      readonly isOfKnownNode: boolean;
    })
  | {
      readonly type: "node certificate";
      readonly pair: KeyPair | undefined;
      /** Milliseconds since the epoch. */
      readonly now: number;
      /** What comes after a refusal, or what to do. */
      readonly next: string;
    };

const newToken = "signet bootstrap-token create";
const newTokenOfKnownNode = `${newToken} --allow-existing-node`;

/** How to give the agent of a node that exists a token. */
const wayOfToken = (bootstrap: BootstrapCredential): string =>
  bootstrap.type === "token file"
    ? `put a token of ${newTokenOfKnownNode} into ${bootstrap.source}`
    : `give the agent a token of ${newTokenOfKnownNode} with --bootstrap-token-file`;

/** What an error of the server means for the credential that was used, and what to do. Contains nothing secret. */
function refusalText(error: ApiError, credential: UsedCredential): string {
  const { code, reason, message } = error;
  if (reason === undefined) return `the server answered ${code} without a reason, as a proxy does: ${message}`;
  if (code === 401) return `the server does not accept ${nameOf(credential)} (401): ${adviceFor(credential)}`;
  if (code === 403) {
    return `the server accepts ${nameOf(credential)}, but does not permit the request (403): ${message}${lacksPermission(message) ? permissionAdvice(credential) : ""}`;
  }
  return message;
}

function nameOf(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "a request without a credential";
    case "token":
    case "token file":
      return `${tokenName(credential.token())} of ${credential.source}`;
    case "certificate":
      return `the client certificate of ${credential.source}`;
    case "node certificate": {
      const { pair, now } = credential;
      if (pair === undefined) return "a request without a client certificate";
      return `the node's client certificate ${serialNumberHex(pair.certificate)}, which ${validityText(pair, now)}`;
    }
  }
}

/** A certificate is not valid yet when it was made while the server's clock was ahead. */
function validityText({ certificate: { notBefore, notAfter } }: KeyPair, now: number): string {
  const time = (milliseconds: number): string => new Date(milliseconds).toISOString();
  if (now < notBefore) return `is only valid from ${time(notBefore)} on, and it is ${time(now)}`;
  return `${now > notAfter ? "expired" : "is valid until"} ${time(notAfter)}`;
}

/** A bootstrap token begins with its ID, which is public. */
function tokenName(token = ""): string {
  const id = /^([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(token)?.[1];
  return id === undefined ? "the token" : `the bootstrap token ${id}`;
}

function adviceFor(credential: UsedCredential): string {
  switch (credential.type) {
    case "none":
      return "give the agent a bootstrap token";
    case "token":
    case "token file":
      return `it is unknown, was deleted or has expired: make another one with ${credential.isOfKnownNode ? newTokenOfKnownNode : newToken}`;
    case "certificate":
      return "it was revoked or has expired, or its CA is not one that the server accepts for clients";
    case "node certificate":
      return `the node is locked, or it was revoked or has expired, or its CA is not one that the server accepts any more: ${credential.next}`;
  }
}

const permissionAdvice = (credential: UsedCredential): string =>
  "token" in credential
    ? `: ${newToken} makes the bindings that machines need`
    : credential.type === "certificate"
      ? ": bind the roles of bootstrap tokens to its user or group"
      : "";
