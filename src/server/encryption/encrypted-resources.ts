import type { Names } from "../../machinery/api/names.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { resourcePrefix } from "../../machinery/registry/stored/storage-key.ts";

/** A resource of the file: `secrets`, `leases.coordination.k8s.io`, `*.` (the core group), `*.group`, `*.*`. */
interface NamedResources {
  readonly plural: string;
  readonly group: string;
}

function parseResource(text: string): NamedResources {
  const dot = text.indexOf(".");
  return dot === -1 ? { plural: text, group: "" } : { plural: text.slice(0, dot), group: text.slice(dot + 1) };
}

/** What is wrong with a list of resources, in upstream's words (`validateResourceNames`, `validateResourceOverlap`). */
export function resourceFaults(resources: readonly string[]): string[] {
  const faults = resources.flatMap((resource) => {
    const fault = nameFault(resource);
    return fault === undefined ? [] : [`${JSON.stringify(resource)}: ${fault}`];
  });
  const distinct = new Map(resources.map(parseResource).map((one) => [`${one.plural}.${one.group}`, one]));
  if (distinct.size < resources.length) faults.push("the same resource cannot be specified multiple times");
  const parsed = [...distinct.values()];
  const isMasked = parsed.some(({ plural, group }, index) =>
    parsed.some(
      (other, at) =>
        at !== index && other.plural === "*" && (other.group === "*" || (other.group === group && plural !== "*")),
    ),
  );
  if (isMasked) {
    faults.push(
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
    );
  }
  return faults;
}

function nameFault(resource: string): string | undefined {
  const { plural, group } = parseResource(resource);
  if (resource !== resource.toLowerCase()) return "resource name should not contain capital letters";
  if (resource === "*") {
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  }
  if (group === "extensions") return "'extensions' group has been removed and cannot be used for encryption";
  if (group === "*" && plural !== "*") return "encrypting the same resource across groups is not supported";
  return undefined;
}

export interface ServedNames {
  readonly names: Names;
  readonly definitions: readonly ResourceDefinition[];
}

/**
 * The entries of the file for each prefix of keys. As upstream, an entry that names a resource takes precedence over an entry for its
 * group, and that over an entry for everything. Entries of the same rank add up, in the order of the file. Both spellings of a group mean
 * the same, and so do all groups that serve a resource (Events are served in two).
 */
export function entriesByPrefix<T extends { readonly resources: readonly string[] }>(
  entries: readonly T[],
  { names, definitions }: ServedNames,
): { readonly byPrefix: ReadonlyMap<string, readonly T[]>; readonly unknown: readonly string[] } {
  const byPrefix = new Map<string, readonly T[]>();
  const known = new Set<string>();
  for (const definition of definitions) {
    const groups = groupsOf(definition, names);
    const ranked = ranks.map((isOfRank) =>
      entries.filter(({ resources }) => {
        const matching = resources.filter((resource) => {
          const named = parseResource(resource);
          return isOfRank({ ...named, group: names.ownGroup(named.group) }, { plural: definition.plural, groups });
        });
        for (const resource of matching) known.add(resource);
        return matching.length > 0;
      }),
    );
    const chosen = ranked.find((found) => found.length > 0);
    if (chosen !== undefined) byPrefix.set(resourcePrefix(definition), chosen);
  }
  const unknown = entries.flatMap(({ resources }) => resources).filter((resource) => !known.has(resource));
  return { byPrefix, unknown };
}

interface Served {
  readonly plural: string;
  readonly groups: ReadonlySet<string>;
}

const ranks: readonly ((named: NamedResources, served: Served) => boolean)[] = [
  (named, { plural, groups }) => named.plural === plural && groups.has(named.group),
  (named, { groups }) => named.plural === "*" && groups.has(named.group),
  (named) => named.plural === "*" && named.group === "*",
];

const groupsOf = ({ group, storedAs, alsoServedAs = [] }: ResourceDefinition, names: Names): ReadonlySet<string> =>
  new Set([group, storedAs?.group ?? group, ...alsoServedAs.map((served) => served.group)].map(names.ownGroup));
