import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import { GroupedKeys } from "../../../machinery/loops/grouped-keys.ts";
import { objectKey } from "../../../machinery/loops/informer.ts";
import type { FollowedObjects } from "../../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import type { Node } from "../nodes/node-schema.ts";
import { nodeResource, podResource } from "../resources.ts";
import type { Pod } from "./schema/pod-schema.ts";

/** The wait after a Node is missing: it may come back, and the cache may be late (upstream: `quarantineTime`). */
const quarantineMilliseconds = 40_000;

/** The wait for a deletion, which writes twice: after this time the second write is done, or was interrupted. */
const removalMilliseconds = 10_000;

/**
 * Deletes Pods that no node agent will end any more: Pods that are bound to a deleted Node (upstream: `gcOrphaned`), and Pods without a
 * Node whose deletion was interrupted (upstream: `gcUnscheduledTerminating`).
 */
export const podGarbageCollector: Controller = {
  name: "podgc",
  start: (context) => new PodGarbageCollector(context).run(),
};

class PodGarbageCollector {
  readonly #monotonic: Clock;
  readonly #names: Names;
  readonly #client: ApiClient;
  readonly #nodes: FollowedObjects<Node>;
  readonly #pods: FollowedObjects<Pod>;
  /** Its keys are the names of nodes, and the keys of Pods, which have a slash. */
  readonly #queue: WorkQueue;
  /** The keys of the Pods that are bound to each node. */
  readonly #podsOf = new GroupedKeys();
  /** Since when nodes are missing, by the monotonic clock. */
  readonly #missingSince = new Map<string, number>();

  constructor(context: ControllerContext) {
    const { client, monotonic, informers, names } = context;
    this.#monotonic = monotonic;
    this.#names = names;
    this.#client = client;
    this.#nodes = informers.of(nodeResource(names));
    this.#pods = informers.of(podResource(names));
    this.#queue = controllerQueue(context, {
      reconcile: (key) => (key.includes("/") ? this.#removeLeftOver(key) : this.#collect(key)),
    });
  }

  run(): StartedController {
    this.#pods.addHandler({
      onAdd: (pod) => this.#bind(pod),
      onUpdate: (pod, previous) => {
        this.#queueLeftOver(pod);
        if (pod.spec.nodeName === previous.spec.nodeName) return;
        this.#unbind(previous);
        this.#bind(pod);
      },
      onDelete: (pod) => this.#unbind(pod),
    });
    this.#nodes.addHandler({
      onAdd: ({ metadata }) => this.#missingSince.delete(metadata.name ?? ""),
      onDelete: ({ metadata }) => this.#queue.add(metadata.name ?? ""),
    });
    return { queue: this.#queue };
  }

  #bind(pod: Pod): void {
    this.#queueLeftOver(pod);
    const node = pod.spec.nodeName ?? "";
    if (node === "") return;
    this.#podsOf.add(node, objectKey(pod));
    if (this.#nodes.get(node) === undefined) this.#queue.add(node);
  }

  #unbind(pod: Pod): void {
    this.#podsOf.delete(pod.spec.nodeName ?? "", objectKey(pod));
  }

  #queueLeftOver(pod: Pod): void {
    if (isLeftOver(pod)) this.#queue.addAfter(objectKey(pod), removalMilliseconds);
  }

  /** Removes the Pods of a node that stays missing. */
  async #collect(node: string): Promise<string> {
    if (!this.#podsOf.has(node) || this.#nodes.get(node) !== undefined) {
      this.#missingSince.delete(node);
      return "nothing to do: the Node is there, or no Pod is bound to it";
    }
    const since = this.#missingSince.get(node) ?? this.#monotonic.now();
    this.#missingSince.set(node, since);
    const wait = since + quarantineMilliseconds - this.#monotonic.now();
    if (wait > 0) {
      this.#queue.addAfter(node, wait);
      return "waits: the Node may come back";
    }
    const found = await this.#client.resource(nodeResource(this.#names)).find(node);
    if (found !== undefined) return "nothing to do: the Node is back";
    for (const key of this.#podsOf.of(node)) await this.#remove(this.#pods.get(key));
    // A Pod that is bound later may come before its new Node.
    this.#missingSince.delete(node);
    return "removed the Pods of a Node that is gone";
  }

  async #removeLeftOver(key: string): Promise<string> {
    const pod = this.#pods.get(key);
    if (pod === undefined || !isLeftOver(pod)) return "nothing to do: the Pod is gone, or something keeps it";
    await this.#remove(pod);
    return "removed a Pod whose deletion was interrupted";
  }

  async #remove(pod: Pod | undefined): Promise<void> {
    const { name = "", namespace = "", uid = "" } = pod?.metadata ?? {};
    if (name === "") return;
    const inNamespace = this.#client.resource(podResource(this.#names), namespace);
    await ignoreCodes([404, 409], inNamespace.delete(name, { uid, gracePeriodSeconds: 0 }));
  }
}

/** Whether a Pod is marked as deleted, but has neither a Node nor a finalizer that would delay the removal. */
const isLeftOver = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (metadata.finalizers ?? []).length === 0 &&
  (spec.nodeName ?? "") === "";
