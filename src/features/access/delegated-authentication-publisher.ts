import { isDeepStrictEqual } from "node:util";
import type { Names } from "../../machinery/api/names.ts";
import { rbacBuilder } from "./policy/rbac-builder.ts";
import type { Role } from "./rbac/roles.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import { followRegistry } from "../../machinery/registry/reads/follow-registry.ts";
import { readableObject } from "../../machinery/registry/reads/readable-objects.ts";
import { storageKey } from "../../machinery/registry/stored/storage-key.ts";
import type { ObjectName } from "../../machinery/registry/stored/storage-key.ts";
import { configMapResource } from "../core/index.ts";
import { delegatedAuthenticationData } from "./delegated-authentication-data.ts";
import type { DelegatedAuthentication } from "./delegated-authentication-data.ts";
import { keepRole } from "./policy/reconcile-policy.ts";
import type { PolicyConnections } from "./policy/reconcile-policy.ts";
import { roleResource } from "./resources.ts";

/**
 * The ConfigMap where extension API servers find the CAs to trust. Its name is built into clients, so it is the same in
 * both profiles.
 */
export const delegatedAuthenticationName = "extension-apiserver-authentication";

/** The role that allows reading this ConfigMap. */
export const delegatedAuthenticationReader = "extension-apiserver-authentication-reader";

const pollMilliseconds = 10_000;
/**
 * Changes by others are undone at once, but only this many times between two polls. Otherwise this server and another writer, such as a
 * replica with other settings, would overwrite each other without a pause.
 */
const maximumWritesBetweenPolls = 5;

interface DelegatedAuthenticationPublisherOptions extends PolicyConnections {
  readonly clock: Clock;
  /** Called for each write, because CAs change while the server runs. */
  readonly current: () => DelegatedAuthentication;
  /** Whether replicas, which may have other settings, write to the same store. */
  readonly hasReplicas: boolean;
}

/** Publishes the CAs and proxy settings of this server, for programs that authenticate in the same way. */
export class DelegatedAuthenticationPublisher {
  readonly #options: DelegatedAuthenticationPublisherOptions;
  readonly #where: ObjectName;
  #writesSincePoll = 0;

  constructor(options: DelegatedAuthenticationPublisherOptions) {
    this.#options = options;
    this.#where = { namespace: options.names.namespaces.system, name: delegatedAuthenticationName };
  }

  /**
   * Creates or corrects the ConfigMap and its role. An object that can't be read stays as it is. When nothing is missing, only the caches
   * are read.
   */
  async publish(): Promise<void> {
    await this.#publishConfigMap();
    await keepRole(this.#options, { type: roleResource, wanted: readerRole(this.#options.names) });
  }

  /** Publishes again when the ConfigMap or a CA has changed. */
  follow(onFailure: (error: unknown) => void): { stop(): void } {
    let isStopped = false;
    const publish = async (): Promise<void> => {
      if (!isStopped) await this.#publishConfigMap();
    };
    const registry = this.#options.stores.of(configMapResource);
    const key = storageKey(registry.definition, this.#where);
    followRegistry(registry, {
      onLoaded: () => undefined,
      onEvent: (event) => {
        if (event.key === key && this.#writesSincePoll < maximumWritesBetweenPolls) publish().catch(onFailure);
      },
    });
    const poll = async (): Promise<void> => {
      this.#writesSincePoll = 0;
      await publish();
    };
    const polling = periodically({ milliseconds: pollMilliseconds, task: poll, onFailure });
    return {
      stop() {
        isStopped = true;
        polling.stop();
      },
    };
  }

  async #publishConfigMap(): Promise<void> {
    const { names, stores, client, clock, current, hasReplicas } = this.#options;
    const configMaps = client.resource(configMapResource(names), this.#where.namespace);
    const existing = readableObject(stores.of(configMapResource), this.#where);
    if (existing === "unreadable") return;
    const before = { data: existing?.data ?? {}, now: clock.now() };
    const data = delegatedAuthenticationData(current(), hasReplicas ? before : undefined);
    if (existing !== undefined && isDeepStrictEqual(existing.data, data)) return;
    this.#writesSincePoll += 1;
    if (existing === undefined) {
      await configMaps.create({ metadata: this.#where, data });
    } else {
      await configMaps.update({ ...existing, data });
    }
  }
}

/** The role that allows reading the ConfigMap (upstream's role of the same name). */
function readerRole(names: Names): Role {
  const { role, inCore } = rbacBuilder(names);
  const configMaps = inCore(["get", "list", "watch"], ["configmaps"]);
  return role({ name: delegatedAuthenticationReader, namespace: names.namespaces.system }, [
    { ...configMaps, resourceNames: [delegatedAuthenticationName] },
  ]);
}
