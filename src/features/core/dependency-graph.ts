import type { ApiObject, OwnerReference } from "../../machinery/api/object-meta.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";

/** A stored object and its resource. */
export interface GraphNode {
  readonly resource: ResourceType;
  readonly object: ApiObject;
}

/** The owners and dependents of objects, by uid. */
export class DependencyGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  put(node: GraphNode): void {
    const uid = node.object.metadata.uid ?? "";
    this.#unlink(uid);
    this.#nodes.set(uid, node);
    for (const owner of ownersOf(node.object)) {
      let dependents = this.#dependents.get(owner.uid);
      if (dependents === undefined) this.#dependents.set(owner.uid, (dependents = new Set()));
      dependents.add(uid);
    }
  }

  remove(uid: string): void {
    this.#unlink(uid);
    this.#nodes.delete(uid);
  }

  dependentsOf(uid: string): GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }

  #unlink(uid: string): void {
    for (const owner of ownersOf(this.#nodes.get(uid)?.object)) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}

export const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] =>
  object?.metadata.ownerReferences ?? [];
