import { isServedAs } from "../../machinery/registry/definition/resource-definition.ts";
import type { ServedType } from "../../machinery/registry/definition/resource-definition.ts";
import type { AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { configMaps } from "./config-maps.ts";
import { eventCleaner } from "./events/event-cleaner.ts";
import { events } from "./events/events.ts";
import { garbageCollector } from "./garbage-collection/garbage-collector.ts";
import { leases } from "./leases.ts";
import { namespaceLifecycle } from "./namespaces/namespace-lifecycle.ts";
import { namespaceTermination } from "./namespaces/namespace-termination.ts";
import { namespaces, createReservedNamespaces } from "./namespaces/namespaces.ts";
import { ownerReferencesPermission } from "./garbage-collection/owner-references-permission.ts";
import { podSecurityLabels } from "./namespaces/pod-security-labels.ts";
import { namespaceResource } from "./resources.ts";
import { secrets } from "./secrets.ts";
import { services } from "./services.ts";

/** The kinds that other features need: namespaces, ConfigMaps, Secrets, Events, Leases, and garbage collection. */
export const coreKinds = [
  kind(configMaps),
  kind(events),
  kind(leases),
  kind(namespaces),
  kind(secrets),
  kind(services),
] as const;

interface CoreConnection {
  readonly names: Names;
  readonly stores: Stores;
  readonly authorize: Authorize;
}

export interface ConnectedCore {
  readonly admission: Readonly<
    Record<"namespaceLifecycle" | "ownerReferencesPermission" | "podSecurityLabels", AdmissionRule>
  >;
  /** Creates the namespaces that every server has. Resolves to the names of the created ones. */
  prepare(client: ApiClient): Promise<readonly string[]>;
}

export function connectCore({ names, stores, authorize }: CoreConnection): ConnectedCore {
  return {
    admission: {
      namespaceLifecycle: namespaceLifecycle({
        names,
        findNamespace: (name) => {
          const where = { namespace: "", name };
          return stores.of(namespaceResource).peek(where)?.object ?? stores.findCurrent(namespaceResource, where);
        },
      }),
      ownerReferencesPermission: ownerReferencesPermission({
        authorize,
        findResource: (reference) => resourceOf(stores.definitions, reference),
      }),
      podSecurityLabels: podSecurityLabels(names),
    },
    prepare: (client) => createReservedNamespaces({ names, stores, client }),
  };
}

/** The stored resource that an owner reference refers to. */
function resourceOf(
  types: readonly ServedType[],
  { apiVersion, kind: kindName }: { readonly apiVersion: string; readonly kind: string },
) {
  const type = types.find((one) => one.kind === kindName && isServedAs(one, apiVersion));
  return type && { group: type.group, resource: type.plural, isNamespaced: type.scope === "Namespaced" };
}

/** The controllers of this feature. `types` are all stored resources. */
export function coreControllers(types: readonly ServedType[]): Controller[] {
  // This server stores no Services, and they cannot be deleted.
  const held = types.filter(({ plural }) => plural !== "services");
  return [
    namespaceTermination({ contents: held.filter(({ scope }) => scope === "Namespaced") }),
    // As in upstream, without events: there are many, and nothing depends on them.
    garbageCollector({ resources: held.filter(({ plural }) => plural !== "events") }),
    eventCleaner,
  ];
}
