import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { ApiClient } from "../client/api-client.ts";
import { Informer } from "./informer.ts";
import type { FollowedObjects } from "./informer.ts";
import { ObjectBudget } from "./object-budget.ts";

/** Makes the informer of a resource. It calls `onError` for each failure, and continues. */
export type OpenInformer = (type: ResourceType, onError: (error: unknown) => void) => FollowedObjects<ApiObject>;

interface InformerSetOptions {
  readonly onError?: (error: unknown, type: ResourceType) => void;
  /** Default: an Informer, which lists and watches through the client. All Informers of the set share one budget. */
  readonly open?: OpenInformer | undefined;
}

/** One informer per resource, shared by all its users in the process. */
export class InformerSet {
  readonly #open: (type: ResourceType) => FollowedObjects<ApiObject>;
  readonly #informers = new Map<string, FollowedObjects<ApiObject>>();

  constructor(client: ApiClient, { onError = () => {}, open }: InformerSetOptions = {}) {
    const budget = new ObjectBudget();
    this.#open = (type) => {
      const onErrorOfType = (error: unknown): void => onError(error, type);
      const listed = client.resource<ApiObject>(type);
      return open?.(type, onErrorOfType) ?? new Informer(listed, { budget, onError: onErrorOfType });
    };
  }

  /** The informer of a resource over all namespaces, made on first use and started by `start`. */
  of<T extends ApiObject>(type: ResourceType<T>): FollowedObjects<T> {
    const key = `${type.group}/${type.plural}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = this.#open(type);
      this.#informers.set(key, informer);
    }
    return informer as unknown as FollowedObjects<T>; // one type a resource: its objects are of that type
  }

  /** Starts all informers that were created so far. Resolves when each has its first list. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.start(signal)));
  }
}
