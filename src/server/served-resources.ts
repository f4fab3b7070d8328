import type { Verb } from "../api/attributes.ts";
import type { ResourceRequestInfo } from "../api/request-info.ts";
import type { ResourceDefinition, ReviewDefinition } from "../registry/resource-definition.ts";

export type Definition = ResourceDefinition | ReviewDefinition;

/** The part of a request's info that names a resource. */
export type ResourceTarget = Omit<ResourceRequestInfo, "kind" | "verb" | "path">;

export const itemVerbs: readonly Verb[] = ["get", "update", "patch", "delete"];
export const everyVerb: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** What is served, as far as routing has to know: where a request may go, before anyone looks at its body. */
export class ServedResources {
  readonly #groups = new Set<string>();
  readonly #definitions = new Map<string, Definition>();

  constructor(definitions: readonly Definition[]) {
    for (const definition of definitions) {
      this.#groups.add(definition.group);
      this.#definitions.set(keyOf({ ...definition, resource: definition.plural }), definition);
    }
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /**
   * The verbs at a path; none when no such path is. A namespaced path never reaches what is cluster-wide; without a
   * namespace only lists and watches reach what is namespaced.
   */
  verbsAt(target: ResourceTarget): readonly string[] {
    const definition = this.#definitions.get(keyOf(target));
    if (definition === undefined || target.rest.length > 0 || !isScopeMet(definition, target)) return [];
    const verbs = verbsOf(definition);
    if (target.isWatchPath) return verbs.filter((verb) => verb === "watch");
    if (target.subresource !== "") return verbsOfSubresource(definition, target.subresource);
    if (target.name !== "") return verbs.filter((verb) => itemVerbs.includes(verb));
    const isAcrossNamespaces = definition.scope === "Namespaced" && target.namespace === "";
    return verbs.filter((verb) =>
      isAcrossNamespaces ? verb === "list" || verb === "watch" : !itemVerbs.includes(verb),
    );
  }
}

export const verbsOf = (definition: Definition): readonly Verb[] =>
  "create" in definition ? ["create"] : (definition.verbs ?? everyVerb);

export function verbsOfSubresource(definition: Definition, name: string): readonly Verb[] {
  if (!("subresources" in definition) || !Object.hasOwn(definition.subresources ?? {}, name)) return [];
  const subresource = definition.subresources?.[name];
  if (subresource === undefined) return [];
  return subresource.type === "create" ? ["create"] : (subresource.verbs ?? ["get", "patch", "update"]);
}

function isScopeMet({ scope, group, plural }: Definition, { namespace, name }: ResourceTarget): boolean {
  if (scope === "Namespaced") return namespace !== "" || name === "";
  // A Namespace's own path carries its name as the namespace too.
  return namespace === "" || (group === "" && plural === "namespaces" && namespace === name);
}

const keyOf = ({ group, version, resource }: Pick<ResourceTarget, "group" | "version" | "resource">): string =>
  `${group}/${version}/${resource}`;
