import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { nodeResource, podResource } from "../resources.ts";
import type { Pod } from "./pod-schema.ts";

/** A Node may come back, and a cache may be late (upstream: `quarantineTime`). */
const quarantineMilliseconds = 40_000;

/** Deletes Pods that are bound to a deleted Node: no node agent is left to end them (upstream: `gcOrphaned`). */
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
      reconcile: async (node) => {
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
        for (const key of bound) {
          const { name = "", namespace = "", uid = "" } = pods.get(key)?.metadata ?? {};
          if (name === "") continue;
          const inNamespace = client.resource(podResource(names), namespace);
          await ignoreCodes([404, 409], inNamespace.delete(name, { uid, gracePeriodSeconds: 0 }));
        }
        return "removed the Pods of a Node that is gone";
      },
    });

    const keyOf = ({ metadata }: Pod): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const bind = (pod: Pod): void => {
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
