import type { Verb } from "../api/attributes.ts";
import type { ResourceRequestInfo } from "./request-info.ts";
import type { ResourceDefinition } from "../registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../registry/definition/review-definition.ts";

export type Definition = ResourceDefinition | ReviewDefinition;

/** The parts of a request's info that identify a resource. */
export type ResourceTarget = Omit<ResourceRequestInfo, "kind" | "verb" | "path">;

const itemVerbs: ReadonlySet<Verb> = new Set(["get", "update", "patch", "delete"]);
const everyVerb: readonly Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** The served resources and their verbs: all that routing needs before the body is read. */
export class ServedResources {
  /** The resources by group, then version, then plural. */
  readonly #resources = new Map<string, Map<string, Map<string, ServedResource>>>();

  constructor(definitions: readonly Definition[]) {
    for (const definition of definitions) {
      const { group, version, plural } = definition;
      const versions = this.#resources.get(group) ?? new Map<string, Map<string, ServedResource>>();
      const plurals = versions.get(version) ?? new Map<string, ServedResource>();
      this.#resources.set(group, versions.set(version, plurals.set(plural, servedResource(definition))));
    }
  }

  hasGroup(group: string): boolean {
    return this.#resources.has(group);
  }

  /**
   * The verbs at a path; none for an unknown path. A path through a namespace never reaches a cluster-scoped resource. A path without a
   * namespace reaches a namespaced resource only with lists and watches. A GET whose name before a subresource is empty is a list or watch.
   */
  verbsAt(target: ResourceTarget): readonly string[] {
    const served = this.#resources.get(target.group)?.get(target.version)?.get(target.resource);
    if (served === undefined || target.rest.length > 0 || !isScopeMet(served.definition, target)) return [];
    if (target.isWatchPath) return target.subresource === "" ? served.watchVerbs : [];
    if (target.subresource !== "") {
      const verbs = verbsOfSubresource(served.definition, target.subresource);
      return target.name === "" && verbs.includes("get") ? [...verbs, "list", "watch"] : verbs;
    }
    if (target.name !== "") return served.itemVerbs;
    const isAcrossNamespaces = served.definition.scope === "Namespaced" && !target.isBelowNamespace;
    return isAcrossNamespaces ? served.readVerbs : served.collectionVerbs;
  }
}

interface ServedResource {
  readonly definition: Definition;
  readonly itemVerbs: readonly Verb[];
  readonly collectionVerbs: readonly Verb[];
  /** For the collection across all namespaces. */
  readonly readVerbs: readonly Verb[];
  readonly watchVerbs: readonly Verb[];
}

function servedResource(definition: Definition): ServedResource {
  const verbs = verbsOf(definition);
  return {
    definition,
    itemVerbs: verbs.filter((verb) => itemVerbs.has(verb)),
    collectionVerbs: verbs.filter((verb) => !itemVerbs.has(verb)),
    readVerbs: verbs.filter((verb) => verb === "list" || verb === "watch"),
    watchVerbs: verbs.filter((verb) => verb === "watch"),
  };
}

export const verbsOf = (definition: Definition): readonly Verb[] =>
  "create" in definition ? ["create"] : (definition.verbs ?? everyVerb);

export function verbsOfSubresource(definition: Definition, name: string): readonly Verb[] {
  if (!("subresources" in definition) || !Object.hasOwn(definition.subresources ?? {}, name)) return [];
  const subresource = definition.subresources?.[name];
  if (subresource === undefined) return [];
  return subresource.type === "create" ? ["create"] : (subresource.verbs ?? ["get", "patch", "update"]);
}

function isScopeMet(
  { scope }: Definition,
  { isWatchPath, isBelowNamespace, namespace, name }: ResourceTarget,
): boolean {
  if (scope === "Cluster") return !isBelowNamespace;
  // A watch of one object watches one key, which contains the namespace.
  return name === "" || (isWatchPath ? namespace !== "" : isBelowNamespace);
}
