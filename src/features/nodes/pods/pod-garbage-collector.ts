import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { nodeResource, podResource } from "../resources.ts";
import type { Pod } from "./pod-schema.ts";

/** A Node may come back, and a cache may be late (upstream: `quarantineTime`). */
const quarantineMilliseconds = 40_000;

/** A deletion writes twice: by then it has, or was interrupted. */
const removalMilliseconds = 10_000;

/**
 * Deletes Pods that no node agent is left to end: those that are bound to a deleted Node (upstream: `gcOrphaned`), and those without a
 * Node whose deletion was interrupted (upstream: `gcUnscheduledTerminating`).
 */
export const podGarbageCollector: Controller = {
  name: "podgc",
  start(context) {
    const { client, clock, informers, names } = context;
    const nodes = informers.of(nodeResource(names));
    const pods = informers.of(podResource(names));
    /** The keys of the Pods that are bound to each node. */
    const podsOf = new Map<string, Set<string>>();
    /** Since when nodes are missing, in milliseconds since the epoch. */
    const missingSince = new Map<string, number>();

    const queue = controllerQueue(context, {
      name: this.name,
      reconcile: async (key) => {
        if (key.includes("/")) return removeLeftOver(key);
        const node = key;
        const bound = podsOf.get(node);
        if (bound === undefined || nodes.get(node) !== undefined) {
          missingSince.delete(node);
          return "nothing to do: the Node is there, or no Pod is bound to it";
        }
        const since = missingSince.get(node) ?? clock.now();
        missingSince.set(node, since);
        const wait = since + quarantineMilliseconds - clock.now();
        if (wait > 0) {
          queue.addAfter(node, Math.min(wait, quarantineMilliseconds));
          return "waits: the Node may come back";
        }
        if ((await client.resource(nodeResource(names)).find(node)) !== undefined)
          return "nothing to do: the Node is back";
        for (const podKey of bound) await remove(pods.get(podKey));
        return "removed the Pods of a Node that is gone";
      },
    });

    async function remove(pod: Pod | undefined): Promise<void> {
      const { name = "", namespace = "", uid = "" } = pod?.metadata ?? {};
      if (name === "") return;
      const inNamespace = client.resource(podResource(names), namespace);
      await ignoreCodes([404, 409], inNamespace.delete(name, { uid, gracePeriodSeconds: 0 }));
    }

    async function removeLeftOver(key: string): Promise<string> {
      const pod = pods.get(key);
      if (pod === undefined || !isLeftOver(pod)) return "nothing to do: the Pod is gone, or something keeps it";
      await remove(pod);
      return "removed a Pod whose deletion was interrupted";
    }

    const keyOf = ({ metadata }: Pod): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const bind = (pod: Pod): void => {
      if (isLeftOver(pod)) queue.addAfter(keyOf(pod), removalMilliseconds);
      const node = pod.spec.nodeName ?? "";
      if (node === "") return;
      const bound = podsOf.get(node) ?? new Set();
      podsOf.set(node, bound.add(keyOf(pod)));
      if (nodes.get(node) === undefined) queue.add(node);
    };
    const unbind = (pod: Pod): void => {
      const node = pod.spec.nodeName ?? "";
      const bound = podsOf.get(node);
      bound?.delete(keyOf(pod));
      if (bound?.size === 0) podsOf.delete(node);
    };
    pods.addHandler({
      onAdd: bind,
      onUpdate(pod, previous) {
        if (isLeftOver(pod)) queue.addAfter(keyOf(pod), removalMilliseconds);
        if (pod.spec.nodeName === previous.spec.nodeName) return;
        unbind(previous);
        bind(pod);
      },
      onDelete: unbind,
    });
    nodes.addHandler({
      onAdd: ({ metadata }) => missingSince.delete(metadata.name ?? ""),
      onDelete: ({ metadata }) => queue.add(metadata.name ?? ""),
    });
    return { queue };
  },
};

/** Whether it is deleted, and neither a Node nor a finalizer keeps it. */
const isLeftOver = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (metadata.finalizers ?? []).length === 0 &&
  (spec.nodeName ?? "") === "";
