import { qualified } from "../api/api-error.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { isTooLongKey, MAX_KEY_BYTES, prefixEnd } from "../storage/store.ts";
import type { KeyRange } from "../storage/watch-cache.ts";

type Location = Pick<ResourceDefinition, "group" | "plural" | "scope" | "storedAs">;

/** `/registry/<plural[.group]>/`: the prefix of all keys of a resource. */
export const resourcePrefix = ({ group, plural, storedAs }: Location): string =>
  `/registry/${qualified({ group: storedAs?.group ?? group, resource: plural })}/`;

export interface ObjectName {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** `/registry/<plural[.group]>/[<namespace>/]<name>`. Undefined when no object can have this name. */
export function storageKey(location: Location, { namespace, name }: ObjectName): string | undefined {
  // A slash in a name would reach into another namespace.
  if (name === "" || name.includes("/")) return undefined;
  if (location.scope === "Namespaced" && (namespace === "" || namespace.includes("/"))) return undefined;
  const key = `${collectionPrefix(location, namespace)}${name}`;
  return isTooLongKey(keyAfter(key)) ? undefined : key;
}

/** How many bytes a name in a namespace may have, so that every backend can store its key. */
export const maximumNameBytes = (location: Location, namespace: string): number =>
  Math.max(0, MAX_KEY_BYTES - 1 - Buffer.byteLength(collectionPrefix(location, namespace)));

const collectionPrefix = (location: Location, namespace: string): string =>
  location.scope === "Cluster" ? resourcePrefix(location) : `${resourcePrefix(location)}${namespace}/`;

/** The keys of one namespace, or of all when `namespace` is "". */
export function collectionRange(location: Location, namespace: string): KeyRange {
  const prefix = resourcePrefix(location);
  if (location.scope === "Cluster" || namespace === "") return { start: prefix, end: prefixEnd(prefix) };
  if (namespace.includes("/") || isTooLongKey(`${prefix}${namespace}/`)) return { start: prefix, end: prefix };
  return { start: `${prefix}${namespace}/`, end: prefixEnd(`${prefix}${namespace}/`) };
}

export const singleKeyRange = (key: string): KeyRange => ({ start: key, end: keyAfter(key) });

/** The next key in key order. Ranges and pages start and end there, so backends must accept it too. */
export const keyAfter = (key: string): string => `${key}\0`;
