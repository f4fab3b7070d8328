import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { periodically } from "../../../machinery/api/periodically.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { followRegistry } from "../../../machinery/registry/follow-registry.ts";
import { storageKey } from "../../../machinery/registry/storage-key.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { configMapResource } from "../../core/index.ts";
import { reconcileRole } from "../policy/reconcile.ts";
import { roleResource } from "../resources.ts";
import {
  delegatedAuthenticationData,
  delegatedAuthenticationName,
  delegatedAuthenticationReader,
} from "./delegated-authentication.ts";
import type { DelegatedAuthentication } from "./delegated-authentication.ts";

export interface PublishDelegatedAuthenticationOptions {
  readonly names: Names;
  readonly stores: Stores;
  /** May do everything. */
  readonly client: ApiClient;
  readonly clock: Clock;
  /** Asked each time: CAs change while the server runs. */
  readonly current: () => DelegatedAuthentication;
  /** Servers with other settings write to the same store. */
  readonly areThereOthers: boolean;
}

export interface DelegatedAuthenticationPublisher {
  /** Makes the ConfigMap and its role what they should be. Where nothing is missing it only reads memory. */
  publish(): Promise<void>;
  /** Publishes again when the ConfigMap or a CA has changed. */
  follow(onFailure: (error: unknown) => void): { stop(): void };
}

const lookMilliseconds = 10_000;
/**
 * Changes by others are undone at once, but only this many times until the next look. Otherwise this server and another
 * writer, such as a replica with other settings, would overwrite each other without a pause.
 */
const maximumWritesBetweenLooks = 5;

export function delegatedAuthenticationPublisher({
  names,
  stores,
  client,
  clock,
  current,
  areThereOthers,
}: PublishDelegatedAuthenticationOptions): DelegatedAuthenticationPublisher {
  const where = { namespace: names.namespaces.system, name: delegatedAuthenticationName };
  let writesSinceLook = 0;

  const publishConfigMap = async (): Promise<void> => {
    const configMaps = client.resource(configMapResource(names), where.namespace);
    const existing = stores.of(configMapResource).peek(where)?.object;
    const before = { data: existing?.data ?? {}, now: clock.now() };
    const data = delegatedAuthenticationData(current(), areThereOthers ? before : undefined);
    if (existing !== undefined && isDeepStrictEqual(existing.data, data)) return;
    writesSinceLook += 1;
    if (existing === undefined) {
      await configMaps.create({ apiVersion: "v1", kind: "ConfigMap", metadata: where, data });
    } else {
      await configMaps.update({ ...existing, data });
    }
  };
  const publishRole = async (): Promise<void> => {
    const wanted = delegatedAuthenticationReader(names);
    const roles = client.resource(roleResource(names), where.namespace);
    const { name = "" } = wanted.metadata;
    const existing = stores.of(roleResource).peek({ ...where, name })?.object;
    const next = existing && reconcileRole(existing, wanted, names);
    if (existing === undefined) await roles.create(wanted);
    else if (next !== undefined) await roles.update(next);
  };

  return {
    async publish() {
      await publishConfigMap();
      await publishRole();
    },
    follow(onFailure) {
      let isStopped = false;
      const publish = async (): Promise<void> => {
        if (!isStopped) await publishConfigMap();
      };
      const registry = stores.of(configMapResource);
      const key = storageKey(registry.definition, where);
      followRegistry(registry, {
        onLoaded: () => undefined,
        onEvent: (event) => {
          if (event.key === key && writesSinceLook < maximumWritesBetweenLooks) publish().catch(onFailure);
        },
      });
      const look = async (): Promise<void> => {
        writesSinceLook = 0;
        await publish();
      };
      const looks = periodically({ milliseconds: lookMilliseconds, task: look, onFailure });
      return {
        stop() {
          isStopped = true;
          looks.stop();
        },
      };
    },
  };
}
