import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { ApiClient } from "../client/api-client.ts";
import { Informer } from "./informer.ts";

/** One informer per resource, shared by all its users in the process. */
export class InformerSet {
  readonly #client: ApiClient;
  readonly #onError: (error: unknown) => void;
  readonly #informers = new Map<string, Informer<ApiObject>>();

  constructor(client: ApiClient, onError: (error: unknown) => void = () => {}) {
    this.#client = client;
    this.#onError = onError;
  }

  /** The informer of a resource over all namespaces, made on first use and started by `start`. */
  of<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
    const key = `${type.group}/${type.plural}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new Informer(this.#client.resource<ApiObject>(type), { onError: this.#onError });
      this.#informers.set(key, informer);
    }
    return informer as unknown as Informer<T>; // one type a resource: its objects are of that type
  }

  /** Starts all informers that were created so far. Resolves when each has its first list. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.start(signal)));
  }
}
