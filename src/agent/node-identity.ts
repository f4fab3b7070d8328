import type { ApiClient } from "../machinery/client/api-client.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { requestIdentity } from "./certificate-renewal.ts";
import type { KeyPair } from "./key-pair.ts";
import { AgentClients } from "./agent-clients.ts";
import type { AgentClientsOptions } from "./agent-clients.ts";
import { isIdentityOf } from "./wanted-certificate.ts";

/** `clientCertificate` may be another node's, when a data directory was copied. */
export interface NodeIdentityOptions extends Omit<AgentClientsOptions, "access"> {
  readonly settings: AgentSettings;
}

/** Who the agent is to the server now. */
export class NodeIdentity {
  readonly connection: AgentClients;
  readonly #options: NodeIdentityOptions;

  constructor(options: NodeIdentityOptions) {
    this.#options = options;
    this.connection = new AgentClients({
      ...options,
      access: options.settings,
      clientCertificate: () => this.#own(),
    });
  }

  /** Whether there is a client certificate that the server accepts, as far as is known. */
  get isEstablished(): boolean {
    const pair = this.#own();
    return pair !== undefined && !this.isRefused(pair) && this.#options.serverClock.now() <= pair.certificate.notAfter;
  }

  isRefused(pair: KeyPair | undefined): boolean {
    return this.connection.isRefused(pair);
  }

  /** The client to request a client certificate with. Undefined: there is no credential. */
  requestClient(): ApiClient | undefined {
    const pair = this.#own();
    const identity = requestIdentity({
      certificate: pair?.certificate,
      isRefused: this.isRefused(pair),
      hasBootstrap: this.connection.hasBootstrap,
      now: this.#options.serverClock.now(),
    });
    return identity === undefined ? undefined : this.connection.as(identity);
  }

  /** Why `requestClient` has none, and what to do. */
  get missingCredential(): string {
    const { bootstrap } = this.#options.settings;
    return bootstrap.type === "token"
      ? `there is no client certificate yet, and no token: ${bootstrap.source} is missing, empty or cannot be read`
      : "there is neither a client certificate of this node nor a bootstrap credential: give the agent one with --bootstrap-token-file, --client-certificate or --kubeconfig";
  }

  #own(): KeyPair | undefined {
    const pair = this.#options.clientCertificate();
    return pair !== undefined && isIdentityOf(pair.certificate, this.#options.settings.nodeName) ? pair : undefined;
  }
}
