import type { GroupVersionKind } from "../../api/resource-type.ts";
import { verbsOfSubresource } from "../served-resources.ts";
import type { Definition } from "../served-resources.ts";

export interface DiscoveryGroup {
  readonly name: string;
  readonly versions: DiscoveryVersion[];
}

export interface DiscoveryVersion {
  readonly version: string;
  /** The kinds of the version, sorted by plural. */
  readonly definitions: Definition[];
}

/** The groups in the order of their first definition, with their versions. */
export function discoveryGroups(definitions: readonly Definition[]): DiscoveryGroup[] {
  const groups: DiscoveryGroup[] = [];
  for (const definition of definitions) {
    let group = groups.find(({ name }) => name === definition.group);
    if (group === undefined) groups.push((group = { name: definition.group, versions: [] }));
    let version = group.versions.find((one) => one.version === definition.version);
    if (version === undefined) group.versions.push((version = { version: definition.version, definitions: [] }));
    version.definitions.push(definition);
  }
  for (const { definitions: resources } of groups.flatMap(({ versions }) => versions)) {
    resources.sort((one, other) => (one.plural < other.plural ? -1 : 1));
  }
  return groups;
}

/** The singular name of a resource. Upstream's singular names all have this form. */
export const singularOf = ({ kind }: Definition): string => kind.toLowerCase();

export function shortNamesAndCategories(definition: Definition): {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
} {
  if ("create" in definition) return {};
  const { shortNames = [], categories = [] } = definition;
  return { ...(shortNames.length > 0 && { shortNames }), ...(categories.length > 0 && { categories }) };
}

interface DiscoveredSubresource {
  readonly name: string;
  /** Group and version are empty if they are the same as the document's (upstream: `ConvertGroupVersionIntoToDiscovery`). */
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly string[];
}

export function subresourcesOf(definition: Definition): DiscoveredSubresource[] {
  if ("create" in definition) return [];
  return Object.entries(definition.subresources ?? {})
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, subresource]) => {
      const { group, version, kind } = subresource.type === "create" ? subresource : definition;
      const isOwn = group === definition.group && version === definition.version;
      const responseKind = isOwn ? ownResponseKind(kind) : { group, version, kind };
      return { name, responseKind, verbs: [...verbsOfSubresource(definition, name)].sort() };
    });
}

export const ownResponseKind = (kind: string): GroupVersionKind => ({ group: "", version: "", kind });
