import { isServedAs } from "../../machinery/registry/resource-definition.ts";
import type { ServedType } from "../../machinery/registry/resource-definition.ts";
import type { ApiObject, OwnerReference } from "../../machinery/api/object-meta.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";

const foregroundFinalizer = "foregroundDeletion";
const orphanFinalizer = "orphan";

/**
 * Deletes objects whose owners are all gone, and implements the deletion policies. `orphan` first removes the owner
 * from its dependents. `foregroundDeletion` waits until the dependents that block their owner are gone (upstream: the
 * garbage collector).
 */
export function garbageCollector({ resources }: { readonly resources: readonly ServedType[] }): Controller {
  return {
    name: "garbagecollector",
    start(context) {
      const { client, informers } = context;
      const graph = new DependencyGraph();
      const queue = controllerQueue(this.name, context, async (uid) => {
        const node = graph.get(uid);
        if (node === undefined) return "nothing to do: the object is gone";
        const { deletionTimestamp, finalizers = [] } = node.object.metadata;
        if (deletionTimestamp === undefined) return collect(node);
        if (finalizers.includes(orphanFinalizer)) return orphanDependents(node);
        if (finalizers.includes(foregroundFinalizer)) return finishForeground(node);
        return "nothing to do: the object has no finalizer of the garbage collector";
      });

      const clientOf = ({ resource, object }: GraphNode): ResourceClient<ApiObject> =>
        client.resource(resource, object.metadata.namespace ?? "");

      /** Deletes an object without a living owner; with one, drops the references to those that are gone. */
      async function collect(node: GraphNode): Promise<string> {
        const owners = ownersOf(node.object);
        if (owners.length === 0) return "nothing to do: the object has no owner";
        const states = await Promise.all(owners.map((owner) => stateOf(owner, node)));
        const { uid = "", resourceVersion = "", name = "" } = node.object.metadata;
        const kept = owners.filter((_, index) => states[index] === "alive");
        if (kept.length === owners.length) return "nothing to do: all owners are alive";
        if (kept.length > 0) {
          await ignoring([404], clientOf(node).patch(name, { metadata: { resourceVersion, ownerReferences: kept } }));
          return "dropped the references to owners that are gone";
        }
        const isAwaited = states.includes("awaits its dependents");
        const hasDependents = graph.dependentsOf(uid).length > 0;
        const propagationPolicy = isAwaited && hasDependents ? "Foreground" : "Background";
        await ignoring([404, 409], clientOf(node).delete(name, { uid, propagationPolicy }));
        return "deleted the object: its owners are gone";
      }

      type OwnerState = "alive" | "gone" | "awaits its dependents";

      async function stateOf(owner: OwnerReference, { object }: GraphNode): Promise<OwnerState> {
        const resource = resources.find((type) => owner.kind === type.kind && isServedAs(type, owner.apiVersion));
        // An owner of a kind that is not served here cannot be looked up. Never delete on a guess.
        if (resource === undefined) return "alive";
        const { namespace = "" } = object.metadata;
        if (resource.scope === "Namespaced" && namespace === "") return "alive";
        const found =
          graph.get(owner.uid)?.object ??
          (await client.resource(resource, resource.scope === "Namespaced" ? namespace : "").find(owner.name));
        if (found === undefined || found.metadata.uid !== owner.uid) return "gone";
        // Owners live in the namespace of their dependents, or in none.
        if (resource.scope === "Namespaced" && found.metadata.namespace !== namespace) return "gone";
        const isForeground =
          found.metadata.deletionTimestamp !== undefined && found.metadata.finalizers?.includes(foregroundFinalizer);
        return isForeground === true ? "awaits its dependents" : "alive";
      }

      async function orphanDependents(node: GraphNode): Promise<string> {
        const { uid = "" } = node.object.metadata;
        await Promise.all(
          graph.dependentsOf(uid).map((dependent) => {
            const { name = "", resourceVersion } = dependent.object.metadata;
            const ownerReferences = ownersOf(dependent.object).filter((owner) => owner.uid !== uid);
            return ignoring([404], clientOf(dependent).patch(name, { metadata: { resourceVersion, ownerReferences } }));
          }),
        );
        await removeFinalizer(node, orphanFinalizer);
        return "orphaned the dependents";
      }

      async function finishForeground(node: GraphNode): Promise<string> {
        const { uid = "" } = node.object.metadata;
        const dependents = graph.dependentsOf(uid);
        for (const dependent of dependents) queue.add(dependent.object.metadata.uid ?? "");
        const isBlocked = dependents.some(({ object }) =>
          ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
        );
        if (isBlocked) return "waits for dependents that block the deletion";
        await removeFinalizer(node, foregroundFinalizer);
        return "finished the deletion: no dependent blocks it";
      }

      async function removeFinalizer(node: GraphNode, finalizer: string): Promise<void> {
        const { name = "", resourceVersion, finalizers = [] } = node.object.metadata;
        const kept = finalizers.filter((one) => one !== finalizer);
        await ignoring([404], clientOf(node).patch(name, { metadata: { resourceVersion, finalizers: kept } }));
      }

      for (const resource of resources) {
        const put = (object: ApiObject): void => {
          const { uid = "", deletionTimestamp } = object.metadata;
          // Most objects have no owner and are not being deleted: the graph need not contain them.
          if (ownersOf(object).length === 0 && deletionTimestamp === undefined) return graph.remove(uid);
          graph.put({ resource, object });
          queue.add(uid);
        };
        informers.of(resource).addHandler({
          fields: ["ownerReferences", "deletionTimestamp"],
          onAdd: put,
          onUpdate(object, previous) {
            // Between two look-ups, another object may have got the same name.
            if (previous.metadata.uid !== object.metadata.uid) forget(previous);
            put(object);
          },
          onDelete: forget,
        });
      }

      function forget(object: ApiObject): void {
        const { uid = "" } = object.metadata;
        const dependents = graph.dependentsOf(uid);
        graph.remove(uid);
        for (const dependent of dependents) queue.add(dependent.object.metadata.uid ?? "");
        for (const owner of ownersOf(object)) queue.add(owner.uid);
      }
      return { queue };
    },
  };
}

/** A stored object and its resource. */
interface GraphNode {
  readonly resource: ResourceType;
  readonly object: ApiObject;
}

/** The owners and dependents of objects, by uid. */
class DependencyGraph {
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

const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? [];
