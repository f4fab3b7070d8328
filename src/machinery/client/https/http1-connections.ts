import https from "node:https";
import { errorCode } from "../../api/thrown-error.ts";
import { connectionEnded, connectionTimeout, isLate, RequestNotTaken } from "./connections.ts";
import type { Connections, WireRequest } from "./connections.ts";
import { boundInterimAnswers } from "./bound-interim-answers.ts";
import { ProxyAgent, proxyFault } from "./proxy-agent.ts";
import { tlsOptions } from "./tls-options.ts";
import type { TlsCredentials, TlsServer } from "./tls-options.ts";
import type { ClientResponse } from "../transport.ts";

/** HTTP/1.1: a connection for each running request, through the proxy of the server or of the environment. */
export class Http1Connections implements Connections {
  readonly #server: TlsServer;
  readonly #agent: ProxyAgent;
  /** Node.js would name `localhost`, because it does not look for the host in the agent. */
  readonly #host: string;
  #answers = 0;

  constructor(server: TlsServer, credentials: TlsCredentials) {
    this.#server = server;
    this.#host = new URL(server.server).host;
    this.#agent = new ProxyAgent(server, {
      keepAlive: true,
      ALPNProtocols: ["http/1.1"],
      ...tlsOptions(server, credentials),
    });
  }

  send({
    method,
    path,
    headers,
    body,
    isRepeatable,
    signal,
    silenceMilliseconds,
  }: WireRequest): Promise<ClientResponse> {
    return new Promise((resolve, reject) => {
      const answersBefore = this.#answers;
      const outgoing = https.request(
        {
          method,
          path,
          headers: { host: this.#host, ...headers },
          agent: this.#agent,
          timeout: silenceMilliseconds,
          ...(signal && { signal }),
        },
        (incoming) => {
          this.#answers += 1;
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming });
        },
      );
      this.#agent.boundTunnel(outgoing, { signal, milliseconds: silenceMilliseconds, onEnded: reject });
      boundInterimAnswers(outgoing, "information");
      let isSilent = false;
      outgoing.on("timeout", () => {
        isSilent = true;
        outgoing.destroy(connectionTimeout(this.#server));
      });
      outgoing.on("error", (error) => {
        // Other idle connections are likely dead too, unless another request was answered meanwhile.
        if ((isSilent || isLate(signal)) && this.#answers === answersBefore) this.#closeIdle();
        if (!isRepeatable || !outgoing.reusedSocket || !cut.has(errorCode(error))) {
          return reject(outgoing.socket === null ? proxyFault(error) : error);
        }
        // The server may have closed all idle connections.
        this.#closeIdle();
        reject(new RequestNotTaken({ cause: error }));
      });
      // Node.js closes a connection that changes its protocol (101) without an answer, and without an error.
      outgoing.on("close", () => reject(connectionEnded()));
      outgoing.end(body);
    });
  }

  retire(): void {
    this.#agent.maxFreeSockets = 0;
    this.#closeIdle();
  }

  get isIdle(): boolean {
    return Object.keys(this.#agent.sockets).length === 0;
  }

  close(): void {
    this.#agent.destroy();
  }

  #closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }
}

/** The errors of a server that closes an idle connection just when the next request is sent on it (RFC 9112 section 9.3.1). */
const cut: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);
