import { messageOf } from "../../../machinery/api/thrown-error.ts";
import type { Namespace } from "./namespaces.ts";
import { millisecondsSince } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ResourceType } from "../../../machinery/api/resource-type.ts";
import type { ApiClient, ResourceClient } from "../../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import type { FollowedObjects } from "../../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { contentFinalizer } from "./content-finalizer.ts";
import { namespaceConditions } from "./namespace-conditions.ts";
import type { EmptyingProgress, RemainingContent } from "./namespace-conditions.ts";
import { namespaceResource } from "../resources.ts";

/**
 * The objects in a namespace stay for this long after its deletion (upstream: `namespaceDeletionGracePeriod`). `kubectl delete -f folder/`
 * deletes the namespace first and then each object in it, and fails for objects that are already deleted.
 */
const graceMilliseconds = 5000;
/**
 * When to check again what remains, in milliseconds. Objects with finalizers take time to be deleted, and some never are. Each check lists
 * all kinds and deletes again what is there, so the checks become rarer: the pause is a tenth of the time since the deletion, from one
 * second to ten.
 */
export const nextCheckMilliseconds = (passedMilliseconds: number): number =>
  Math.min(10_000, Math.max(1000, passedMilliseconds / 10));

/** The most objects whose finalizers are counted. */
const maximumExamined = 500;

/**
 * Deletes everything in a namespace that is being deleted, then removes the namespace's finalizer so that it is deleted itself. Pods are
 * deleted first. While a Pod is ending, all other objects stay, because the Pod may still need its Secrets and its account (upstream:
 * KEP-5080, OrderedNamespaceDeletion).
 */
export const namespaceTermination = (options: NamespaceTerminationOptions): Controller => ({
  name: "namespace",
  start: (context) => new NamespaceTermination(context, options).run(),
});

interface NamespaceTerminationOptions {
  /** Every namespaced resource that is stored. */
  readonly contents: readonly ResourceType[];
}

class NamespaceTermination {
  readonly #pods: readonly ResourceType[];
  readonly #others: readonly ResourceType[];
  readonly #client: ApiClient;
  readonly #clock: Clock;
  readonly #namespaces: FollowedObjects<Namespace>;
  readonly #resource: ResourceClient<Namespace>;
  readonly #queue: WorkQueue;

  constructor(context: ControllerContext, { contents }: NamespaceTerminationOptions) {
    const { client, clock, informers, names } = context;
    this.#pods = contents.filter(isPods);
    this.#others = contents.filter((resource) => !isPods(resource));
    this.#client = client;
    this.#clock = clock;
    this.#namespaces = informers.of(namespaceResource(names));
    this.#resource = client.resource(namespaceResource(names));
    this.#queue = controllerQueue(context, { reconcile: (name) => this.#reconcile(name) });
  }

  run(): StartedController {
    const addTerminating = ({ metadata }: Namespace): void => {
      if (metadata.deletionTimestamp !== undefined) this.#queue.add(metadata.name ?? "");
    };
    this.#namespaces.addHandler({ onAdd: addTerminating, onUpdate: addTerminating });
    return { queue: this.#queue };
  }

  async #reconcile(name: string): Promise<string> {
    const namespace = this.#namespaces.get(name);
    if (namespace?.metadata.deletionTimestamp === undefined) return "nothing to do: the namespace is not being deleted";
    if (!namespace.spec.finalizers?.includes(contentFinalizer))
      return "nothing to do: the namespace was emptied before";
    // Without the clock's steps: a namespace that was deleted while the clock was ahead must not wait until the clock is there again.
    const passed = millisecondsSince(Date.parse(namespace.metadata.deletionTimestamp), this.#clock);
    if (passed < graceMilliseconds) {
      this.#queue.addAfter(name, graceMilliseconds - passed);
      return "waits: a user who deletes the namespace may delete its objects too";
    }
    const progress = await this.#empty(name);
    if (isEmptied(progress)) {
      await this.#removeFinalizer(namespace);
      return "emptied the namespace and removed its finalizer";
    }
    await this.#report(namespace, progress);
    this.#queue.addAfter(name, nextCheckMilliseconds(passed));
    const left = [...progress.remaining.map(({ resource }) => resource), ...progress.failures];
    return `waits: objects remain: ${left.join(", ")}`;
  }

  async #empty(namespace: string): Promise<EmptyingProgress> {
    const progress = await this.#emptyEach(this.#pods, namespace);
    return isEmptied(progress) ? this.#emptyEach(this.#others, namespace) : progress;
  }

  async #emptyEach(resources: readonly ResourceType[], namespace: string): Promise<EmptyingProgress> {
    const failures: string[] = [];
    const remaining = await Promise.all(
      resources.map(async (resource) => {
        try {
          return await deleteAll(resource, this.#client.resource(resource, namespace));
        } catch (error) {
          failures.push(messageOf(error));
          return undefined;
        }
      }),
    );
    return { remaining: remaining.filter((one) => one !== undefined), failures };
  }

  async #removeFinalizer(namespace: Namespace): Promise<void> {
    const finalizers = (namespace.spec.finalizers ?? []).filter((one) => one !== contentFinalizer);
    const finalized: Namespace = { ...namespace, spec: { ...namespace.spec, finalizers } };
    await ignoreCodes([404], this.#resource.update(finalized, { subresource: "finalize" }));
  }

  /** Writes into the namespace's conditions what its deletion waits for. */
  async #report(namespace: Namespace, progress: EmptyingProgress): Promise<void> {
    const before = namespace.status.conditions ?? [];
    const conditions = namespaceConditions(before, { ...progress, now: this.#clock.now() });
    if (conditions === before) return;
    const reported: Namespace = { ...namespace, status: { ...namespace.status, conditions: [...conditions] } };
    await ignoreCodes([404], this.#resource.update(reported, { subresource: "status" }));
  }
}

const isPods = ({ group, plural }: ResourceType): boolean => group === "" && plural === "pods";

const isEmptied = ({ remaining, failures }: EmptyingProgress): boolean =>
  remaining.length === 0 && failures.length === 0;

/** Deletes all objects of a resource in a namespace. Returns what remains. Undefined: nothing. */
async function deleteAll(
  { plural, group }: ResourceType,
  inNamespace: ResourceClient<ApiObject>,
): Promise<RemainingContent | undefined> {
  const before = await inNamespace.list({ limit: 1 });
  if (before.items.length === 0) return undefined;
  // All objects are deleted, so none need wait for its dependents or orphan them (upstream: `deleteCollection`).
  await inNamespace.deleteCollection({ propagationPolicy: "Background" });
  const { items, metadata } = await inNamespace.list({ limit: maximumExamined });
  if (items.length === 0) return undefined;
  const finalizers = new Map<string, number>();
  for (const one of items.flatMap((object) => object.metadata.finalizers ?? [])) {
    finalizers.set(one, (finalizers.get(one) ?? 0) + 1);
  }
  return { resource: `${plural}.${group}`, count: items.length + (metadata.remainingItemCount ?? 0), finalizers };
}
