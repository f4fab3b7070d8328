export { namespaceResource, configMapResource, secretResource, eventResource, leaseResource } from "./resources.ts";
export type { ConfigMap } from "./config-maps.ts";
export { isOnlyGarbageCollectionChange } from "./garbage-collection/garbage-collection-change.ts";
export type { Secret } from "./secrets.ts";
export { decodedText, encodedText, textsOf } from "./secret-texts.ts";
export type { Event } from "./events/event-schema.ts";
export type { Lease } from "./leases.ts";
