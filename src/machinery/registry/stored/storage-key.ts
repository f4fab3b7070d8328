import { qualified } from "../../api/resource-type.ts";
import type { ResourceDefinition } from "../definition/resource-definition.ts";
import { isTooLongKey, maximumKeyBytes } from "../../storage/check-key.ts";
import { keyAfter, prefixRange } from "../../storage/key-range.ts";
import type { KeyRange } from "../../storage/key-range.ts";

type Location = Pick<ResourceDefinition, "group" | "plural" | "scope" | "storedAs">;

/** `/registry/<plural[.group]>/`: the prefix of all keys of a resource. */
export const resourcePrefix = ({ group, plural, storedAs }: Location): string =>
  `/registry/${qualified({ group: storedAs?.group ?? group, resource: plural })}/`;

/** The keys of all objects of a resource. */
export const resourceRange = (location: Location): KeyRange => prefixRange(resourcePrefix(location));

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

/** The name of the object that has a key of `storageKey`. */
export function nameOfKey(location: Location, key: string): ObjectName {
  const path = key.slice(resourcePrefix(location).length);
  const slash = path.indexOf("/");
  return { namespace: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) };
}

/** Parses a key without the definition of its kind. Undefined for a record of the store that is not an API object. */
export function parseStorageKey(key: string): ParsedKey | undefined {
  const match = /^\/registry\/([^/]+)\/(.+)$/s.exec(key);
  return match === null ? undefined : { resource: match[1] ?? "", path: match[2] ?? "" };
}

interface ParsedKey {
  /** Such as `leases.coordination.k8s.io`. */
  readonly resource: string;
  /** `[<namespace>/]<name>`. */
  readonly path: string;
}

/** Makes a function that reads the namespace from a key of a namespaced resource. */
export function namespaceReader(location: Location): (key: string) => string {
  const start = resourcePrefix(location).length;
  return (key) => key.slice(start, key.indexOf("/", start));
}

/** How many bytes a name in a namespace may have, so that every backend can store its key. */
export const maximumNameBytes = (location: Location, namespace: string): number =>
  Math.max(0, maximumKeyBytes - 1 - Buffer.byteLength(collectionPrefix(location, namespace)));

const collectionPrefix = (location: Location, namespace: string): string =>
  location.scope === "Cluster" ? resourcePrefix(location) : `${resourcePrefix(location)}${namespace}/`;

/** The keys of one namespace, or of all when `namespace` is "". */
export function collectionRange(location: Location, namespace: string): KeyRange {
  if (location.scope === "Cluster" || namespace === "") return resourceRange(location);
  const prefix = resourcePrefix(location);
  if (namespace.includes("/") || isTooLongKey(`${prefix}${namespace}/`)) return { start: prefix, end: prefix };
  return prefixRange(`${prefix}${namespace}/`);
}
