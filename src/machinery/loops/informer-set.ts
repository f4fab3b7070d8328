import type { ApiObject } from "../api/object-meta.ts";
import type { ApiClient, ResourceReference } from "../client/api-client.ts";
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

  /** The informer of a resource over all namespaces. Created on first use; `start` starts it. */
  of<T extends ApiObject>(reference: ResourceReference<T>): Informer<T> {
    const key = `${reference.group}/${reference.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new Informer(this.#client.resource<ApiObject>(reference), { onError: this.#onError });
      this.#informers.set(key, informer);
    }
    return informer as unknown as Informer<T>; // there is one reference per resource, so the types match
  }

  /** Starts all informers that were created so far. Resolves when each has its first list. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.start(signal)));
  }
}
