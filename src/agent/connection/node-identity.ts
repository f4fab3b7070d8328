import type { ApiClient } from "../../machinery/client/api-client.ts";
import type { AgentSettings } from "../agent-settings.ts";
import { requestIdentity } from "../certificates/certificate-renewal.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { AgentClients } from "./agent-clients.ts";
import type { AgentClientsOptions } from "./agent-clients.ts";
import { isIdentityOf } from "../certificates/wanted-certificate.ts";

interface NodeIdentityOptions extends Omit<AgentClientsOptions, "access" | "clientCertificate"> {
  readonly settings: AgentSettings;
}

/** The identity of the agent towards the server, with its clients. */
export class NodeIdentity {
  readonly connection: AgentClients;
  readonly #options: NodeIdentityOptions;
  #pair: KeyPair | undefined;

  constructor(options: NodeIdentityOptions) {
    this.#options = options;
    this.connection = new AgentClients({
      ...options,
      access: options.settings,
      clientCertificate: () => this.#own(),
    });
  }

  /** Sets the client certificate. When a data directory was copied, it may belong to another node, and is not used. */
  useCertificate(pair: KeyPair): void {
    this.#pair = pair;
  }

  /** Whether there is a client certificate that the server accepts, as far as is known. */
  get isEstablished(): boolean {
    const pair = this.#own();
    return (
      pair !== undefined &&
      !this.connection.shouldUseBootstrap(pair) &&
      this.#options.serverClock.now() <= pair.certificate.notAfter
    );
  }

  /** The client to request a client certificate with. Undefined: there is no credential. */
  requestClient(): ApiClient | undefined {
    const pair = this.#own();
    const identity = requestIdentity({
      certificate: pair?.certificate,
      isRefused: this.connection.shouldUseBootstrap(pair),
      hasBootstrap: this.connection.hasBootstrap,
      now: this.#options.serverClock.now(),
    });
    return identity && this.connection[identity];
  }

  /** Says whose certificate the data directory has, when it is not this node's and therefore not used. */
  get foreignCertificate(): string | undefined {
    const { nodeName, dataDirectory } = this.#options.settings;
    const pair = this.#pair;
    if (pair === undefined || this.#own() !== undefined) return undefined;
    return `${dataDirectory} has a client certificate of ${pair.certificate.subject.commonName}, not of the node ${nodeName}`;
  }

  /** Why `requestClient` returns no client, and what to do. */
  get missingCredential(): string {
    const { bootstrap } = this.#options.settings;
    if ("token" in bootstrap) {
      return `there is no client certificate yet, and no token: ${bootstrap.source} is missing, holds no token, or cannot be read`;
    }
    const advice = "give the agent one with --bootstrap-token-file, --client-certificate or --kubeconfig";
    return this.foreignCertificate === undefined
      ? `there is neither a client certificate of this node nor a bootstrap credential: ${advice}`
      : `${this.foreignCertificate}, and there is no bootstrap credential: name the node with --node-name, its folder with --data-dir, or ${advice}`;
  }

  #own(): KeyPair | undefined {
    const pair = this.#pair;
    return pair !== undefined && isIdentityOf(pair.certificate, this.#options.settings.nodeName) ? pair : undefined;
  }
}
