import type { ApiObject, OwnerReference } from "../../machinery/api/object-meta.ts";
import { apiVersionOf } from "../../machinery/api/resource-type.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { DependencyGraph, ownersOf } from "./dependency-graph.ts";
import type { GraphNode } from "./dependency-graph.ts";

const foregroundFinalizer = "foregroundDeletion";
const orphanFinalizer = "orphan";

/**
 * Deletes objects whose owners are all gone, and does the work of the deletion policies: `orphan` cuts the dependents
 * loose first, `foregroundDeletion` waits until those that block their owner are gone (upstream: the garbage collector).
 */
export function garbageCollector({ resources }: { readonly resources: readonly ResourceType[] }): Controller {
  return {
    name: "garbagecollector",
    start(context) {
      const { client, informers } = context;
      const graph = new DependencyGraph();
      const queue = controllerQueue(this.name, context, async (uid) => {
        const node = graph.get(uid);
        if (node === undefined) return;
        const { deletionTimestamp, finalizers = [] } = node.object.metadata;
        if (deletionTimestamp === undefined) await collect(node);
        else if (finalizers.includes(orphanFinalizer)) await orphanDependents(node);
        else if (finalizers.includes(foregroundFinalizer)) await finishForeground(node);
      });

      const clientOf = ({ resource, object }: GraphNode): ResourceClient<ApiObject> =>
        client.resource(resource, object.metadata.namespace ?? "");

      /** Deletes an object without a living owner; with one, drops the references to those that are gone. */
      async function collect(node: GraphNode): Promise<void> {
        const owners = ownersOf(node.object);
        if (owners.length === 0) return;
        const states = await Promise.all(owners.map((owner) => stateOf(owner, node)));
        const { uid = "", resourceVersion = "", name = "" } = node.object.metadata;
        const kept = owners.filter((_, index) => states[index] === "alive");
        if (kept.length === owners.length) return;
        if (kept.length > 0) {
          await ignoring([404], clientOf(node).patch(name, { metadata: { resourceVersion, ownerReferences: kept } }));
          return;
        }
        const isAwaited = states.includes("awaits its dependents");
        const hasDependents = graph.dependentsOf(uid).length > 0;
        const propagationPolicy = isAwaited && hasDependents ? "Foreground" : "Background";
        await ignoring([404, 409], clientOf(node).delete(name, { uid, propagationPolicy }));
      }

      type OwnerState = "alive" | "gone" | "awaits its dependents";

      async function stateOf(owner: OwnerReference, { object }: GraphNode): Promise<OwnerState> {
        const resource = resources.find((type) => owner.kind === type.kind && owner.apiVersion === apiVersionOf(type));
        // An owner of a kind that is not served here can't be looked up: nothing is deleted on a guess.
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

      async function orphanDependents(node: GraphNode): Promise<void> {
        const { uid = "" } = node.object.metadata;
        await Promise.all(
          graph.dependentsOf(uid).map((dependent) => {
            const { name = "", resourceVersion } = dependent.object.metadata;
            const ownerReferences = ownersOf(dependent.object).filter((owner) => owner.uid !== uid);
            return ignoring([404], clientOf(dependent).patch(name, { metadata: { resourceVersion, ownerReferences } }));
          }),
        );
        await removeFinalizer(node, orphanFinalizer);
      }

      async function finishForeground(node: GraphNode): Promise<void> {
        const { uid = "" } = node.object.metadata;
        const dependents = graph.dependentsOf(uid);
        for (const dependent of dependents) queue.add(dependent.object.metadata.uid ?? "");
        const isBlocked = dependents.some(({ object }) =>
          ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
        );
        if (!isBlocked) await removeFinalizer(node, foregroundFinalizer);
      }

      async function removeFinalizer(node: GraphNode, finalizer: string): Promise<void> {
        const { name = "", resourceVersion, finalizers = [] } = node.object.metadata;
        const kept = finalizers.filter((one) => one !== finalizer);
        await ignoring([404], clientOf(node).patch(name, { metadata: { resourceVersion, finalizers: kept } }));
      }

      for (const resource of resources) {
        const put = (object: ApiObject): void => {
          const { uid = "", deletionTimestamp } = object.metadata;
          // Most objects have no owner and stay: the graph need not know them.
          if (ownersOf(object).length === 0 && deletionTimestamp === undefined) return graph.remove(uid);
          graph.put({ resource, object });
          queue.add(uid);
        };
        informers.of(resource).addHandler({
          onAdd: put,
          onUpdate(object, previous) {
            // The name may have been given to another object between two looks.
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
