import { ownersOf } from "../../../machinery/registry/writes/owner-references.ts";
import { isSameJson } from "../../../machinery/registry/patch/json-value.ts";
import { isServedAs } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ServedType } from "../../../machinery/registry/definition/resource-definition.ts";
import { foregroundFinalizer, orphanFinalizer } from "../../../machinery/api/deletion-finalizers.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../../machinery/api/object-meta.ts";
import type { ApiClient, ResourceClient } from "../../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import { GroupedKeys } from "../../../machinery/loops/grouped-keys.ts";
import type { InformerSet } from "../../../machinery/loops/informer-set.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import type { ResourceType } from "../../../machinery/api/resource-type.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";

interface GarbageCollectorOptions {
  readonly resources: readonly ServedType[];
}

/**
 * Deletes objects whose owners no longer exist, and implements the deletion policies. For `orphan`, it first removes the owner from its
 * dependents. For `foregroundDeletion`, it waits until the dependents that block their owner are deleted (upstream: the garbage collector).
 */
export const garbageCollector = (options: GarbageCollectorOptions): Controller => ({
  name: "garbagecollector",
  start: (context) => new GarbageCollector(context, options).run(),
});

type OwnerState = "alive" | "gone" | "awaits its dependents";

class GarbageCollector {
  readonly #resources: readonly ServedType[];
  readonly #client: ApiClient;
  readonly #informers: InformerSet;
  readonly #queue: WorkQueue;
  readonly #graph = new DependencyGraph();
  /** The uids of deleted owners whose dependents are not queued yet. */
  readonly #gone = new Set<string>();

  constructor(context: ControllerContext, { resources }: GarbageCollectorOptions) {
    this.#resources = resources;
    this.#client = context.client;
    this.#informers = context.informers;
    this.#queue = controllerQueue(context, { reconcile: (uid) => this.#reconcile(uid) });
  }

  run(): StartedController {
    for (const resource of this.#resources) {
      this.#informers.of(resource).addHandler({
        fields: ["ownerReferences", "deletionTimestamp"],
        onAdd: (object) => this.#keepAndQueue({ resource, object }),
        onUpdate: (object, previous) => {
          // The informer may have missed the deletion of an object of the same name.
          if (previous.metadata.uid !== object.metadata.uid) this.#forget(previous);
          // Most updates are heartbeats of nodes. Their Leases have an owner, and the queue would request it from the server.
          else if (isSameJson(ownershipOf(object), ownershipOf(previous))) return this.#keep({ resource, object });
          this.#keepAndQueue({ resource, object });
          // The object may no longer block the deletion of these owners.
          for (const owner of ownersOf(previous)) this.#queue.add(owner.uid);
        },
        onDelete: (object) => this.#forget(object),
      });
    }
    return { queue: this.#queue };
  }

  #keepAndQueue(node: GraphNode): void {
    this.#keep(node);
    this.#queueNode(node);
  }

  #keep(node: GraphNode): void {
    const { uid = "", deletionTimestamp } = node.object.metadata;
    // The graph need not contain objects without an owner that are not being deleted, as most are.
    if (ownersOf(node.object).length === 0 && deletionTimestamp === undefined) this.#graph.remove(uid);
    else this.#graph.put(node);
  }

  #forget(object: ApiObject): void {
    const { uid = "" } = object.metadata;
    this.#graph.remove(uid);
    if (this.#graph.hasDependents(uid)) {
      this.#gone.add(uid);
      this.#queue.add(uid);
    }
    for (const owner of ownersOf(object)) this.#queue.add(owner.uid);
  }

  async #reconcile(uid: string): Promise<string> {
    if (this.#gone.delete(uid))
      await new LongWork().each(this.#graph.dependentsOf(uid), (node) => this.#queueNode(node));
    const node = this.#graph.get(uid);
    if (node === undefined) return "nothing to do: the object is gone";
    const { deletionTimestamp, finalizers = [] } = node.object.metadata;
    if (deletionTimestamp === undefined) return this.#collect(node);
    if (finalizers.includes(orphanFinalizer)) return this.#orphanDependents(node);
    if (finalizers.includes(foregroundFinalizer)) return this.#finishForeground(node);
    return "nothing to do: the object has no finalizer of the garbage collector";
  }

  /** Deletes an object whose owners no longer exist. If some still exist, only removes the references to the others. */
  async #collect(node: GraphNode): Promise<string> {
    const owners = ownersOf(node.object);
    if (owners.length === 0) return "nothing to do: the object has no owner";
    const states = await requestEach(owners, (owner) => this.#stateOf(owner, node));
    const { uid = "", name = "", resourceVersion = "", finalizers = [] } = node.object.metadata;
    const kept = owners.filter((_, index) => states[index] === "alive");
    if (kept.length === owners.length) return "nothing to do: all owners are alive";
    if (kept.length > 0) {
      await this.#patch(node, { ownerReferences: kept });
      return "dropped the references to owners that are gone";
    }
    const isAwaited = states.includes("awaits its dependents") && this.#graph.hasDependents(uid);
    const propagationPolicy = isAwaited ? "Foreground" : policyOf(finalizers);
    // In a circle of owners, each would wait for the next one (upstream: `unblockOwnerReferencesStrategicMergePatch`).
    if (isAwaited && (await this.#isInCircle(uid))) {
      await this.#patch(node, { ownerReferences: owners.map((owner) => ({ ...owner, blockOwnerDeletion: false })) });
    }
    // With the version: if the owners have changed meanwhile, the conflict is retried.
    const deleting = this.#clientOf(node).delete(name, { uid, resourceVersion, propagationPolicy });
    await ignoreCodes([404], deleting);
    return "deleted the object: its owners are gone";
  }

  /** Whether a dependent of this object waits for its own dependents. */
  async #isInCircle(uid: string): Promise<boolean> {
    let isFound = false;
    await new LongWork().each(this.#graph.dependentsOf(uid), ({ object }) => (isFound ||= awaitsDependents(object)));
    return isFound;
  }

  async #stateOf(owner: OwnerReference, { object }: GraphNode): Promise<OwnerState> {
    const resource = this.#resources.find((type) => owner.kind === type.kind && isServedAs(type, owner.apiVersion));
    // An owner of a kind that this server does not have cannot be looked up. Never delete on a guess.
    if (resource === undefined) return "alive";
    const { namespace = "" } = object.metadata;
    if (resource.scope === "Namespaced" && namespace === "") return "alive";
    const known = this.#graph.get(owner.uid);
    const isKnown = known?.resource === resource && known.object.metadata.name === owner.name;
    const found = isKnown
      ? known.object
      : await this.#client.resource(resource, resource.scope === "Namespaced" ? namespace : "").find(owner.name);
    if (found === undefined || found.metadata.uid !== owner.uid) return "gone";
    // An owner is in the namespace of its dependents, or has no namespace.
    if (resource.scope === "Namespaced" && found.metadata.namespace !== namespace) return "gone";
    return awaitsDependents(found) ? "awaits its dependents" : "alive";
  }

  async #orphanDependents(node: GraphNode): Promise<string> {
    const { uid = "" } = node.object.metadata;
    await requestEach([...this.#graph.dependentsOf(uid)], (dependent) => {
      const ownerReferences = ownersOf(dependent.object).filter((owner) => owner.uid !== uid);
      return this.#patch(dependent, { ownerReferences });
    });
    await this.#removeFinalizer(node, orphanFinalizer);
    return "orphaned the dependents";
  }

  async #finishForeground(node: GraphNode): Promise<string> {
    const { uid = "" } = node.object.metadata;
    let isBlocked = false;
    await new LongWork().each(this.#graph.dependentsOf(uid), (dependent) => {
      const { object } = dependent;
      // An object may name itself as its owner.
      if (object.metadata.uid === uid) return;
      // A dependent that itself waits was queued before: in a circle of owners, each would queue the next one for ever.
      if (!awaitsDependents(object)) this.#queueNode(dependent);
      isBlocked ||= ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
    });
    if (isBlocked) return "waits for dependents that block the deletion";
    await this.#removeFinalizer(node, foregroundFinalizer);
    return "finished the deletion: no dependent blocks it";
  }

  #removeFinalizer(node: GraphNode, finalizer: string): Promise<void> {
    const { finalizers = [] } = node.object.metadata;
    return this.#patch(node, { finalizers: finalizers.filter((one) => one !== finalizer) });
  }

  /** Changes the metadata of an object. Ignores an object that no longer exists. */
  async #patch(node: GraphNode, changed: Pick<ObjectMeta, "finalizers" | "ownerReferences">): Promise<void> {
    const { name = "", resourceVersion } = node.object.metadata;
    await ignoreCodes([404], this.#clientOf(node).patch(name, { body: { metadata: { resourceVersion, ...changed } } }));
  }

  #queueNode({ object }: GraphNode): void {
    this.#queue.add(object.metadata.uid ?? "");
  }

  #clientOf({ resource, object }: GraphNode): ResourceClient<ApiObject> {
    return this.#client.resource(resource, object.metadata.namespace ?? "");
  }
}

/** The propagation policy for deleting an object: its finalizers decide what happens to its dependents (as in upstream). */
function policyOf(finalizers: readonly string[]): "Background" | "Foreground" | "Orphan" {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

/** The most concurrent requests of one reconciliation. */
const maximumAtOnce = 16;

/**
 * Makes a request for each item, with bounded concurrency. An object may have thousands of owners and dependents, and as many requests at
 * once would be refused and would delay everything else.
 */
async function requestEach<T, R>(items: readonly T[], request: (item: T) => Promise<R>): Promise<R[]> {
  const work = new LongWork();
  const answers: R[] = [];
  for (let start = 0; start < items.length; start += maximumAtOnce) {
    answers.push(...(await Promise.all(items.slice(start, start + maximumAtOnce).map(request))));
    const pause = work.pause();
    if (pause !== undefined) await pause;
  }
  return answers;
}

/** The metadata that decides about a deletion. */
const ownershipOf = ({ metadata: { ownerReferences, deletionTimestamp, finalizers } }: ApiObject) => ({
  ownerReferences,
  deletionTimestamp,
  finalizers,
});

/** A stored object and its resource. */
interface GraphNode {
  readonly resource: ResourceType;
  readonly object: ApiObject;
}

/** The owners and dependents of objects, by uid. */
class DependencyGraph {
  readonly #nodes = new Map<string, GraphNode>();
  /** The uids of the dependents of each owner. */
  readonly #dependents = new GroupedKeys();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  put(node: GraphNode): void {
    const uid = node.object.metadata.uid ?? "";
    this.#unlink(uid);
    this.#nodes.set(uid, node);
    for (const owner of ownersOf(node.object)) this.#dependents.add(owner.uid, uid);
  }

  remove(uid: string): void {
    this.#unlink(uid);
    this.#nodes.delete(uid);
  }

  hasDependents(uid: string): boolean {
    return this.#dependents.has(uid);
  }

  /** The dependents of an owner. May be read over several turns of the event loop: dependents that are added meanwhile are included. */
  *dependentsOf(uid: string): Generator<GraphNode> {
    for (const dependent of this.#dependents.of(uid)) {
      const node = this.#nodes.get(dependent);
      if (node !== undefined) yield node;
    }
  }

  #unlink(uid: string): void {
    for (const owner of ownersOf(this.#nodes.get(uid)?.object)) this.#dependents.delete(owner.uid, uid);
  }
}

/** Whether an object is being deleted in the foreground, after its dependents. */
const awaitsDependents = ({ metadata: { deletionTimestamp, finalizers = [] } }: ApiObject): boolean =>
  deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer);
