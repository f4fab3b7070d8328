import { resourceType } from "../../machinery/api/resource-type.ts";
import type { ConfigMap } from "./config-maps.ts";
import type { Event } from "./events/event-schema.ts";
import type { Lease } from "./leases.ts";
import type { Namespace } from "./namespaces/namespaces.ts";
import type { Secret } from "./secrets.ts";
import type { Service } from "./services.ts";

export const namespaceResource = resourceType<Namespace>({ group: "", kind: "Namespace", scope: "Cluster" });
export const configMapResource = resourceType<ConfigMap>({ group: "", kind: "ConfigMap", scope: "Namespaced" });
export const secretResource = resourceType<Secret>({ group: "", kind: "Secret", scope: "Namespaced" });
export const eventResource = resourceType<Event>({ group: "", kind: "Event", scope: "Namespaced" });
export const leaseResource = resourceType<Lease>({ group: "coordination", kind: "Lease", scope: "Namespaced" });
export const serviceResource = resourceType<Service>({ group: "", kind: "Service", scope: "Namespaced" });
export type { Lease } from "./leases.ts";
