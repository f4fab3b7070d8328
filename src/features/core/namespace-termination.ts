import { messageOf } from "../../machinery/api/thrown-error.ts";
import type { Namespace } from "./namespaces.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { namespaceConditions } from "./namespace-conditions.ts";
import type { EmptyingProgress, RemainingContent } from "./namespace-conditions.ts";
import { namespaceResource } from "./resources.ts";

const finalizer = "kubernetes";
/**
 * The content stays for this long (upstream: `namespaceDeletionGracePeriod`). `kubectl delete -f folder/` deletes the namespace
 * first and then each object in it, and fails for those that are gone already.
 */
const graceMilliseconds = 5000;
/**
 * When to look again at what remains. Objects with finalizers take time to go away, and some never do. Each check lists all kinds and
 * deletes again what is there, so the checks become fewer: a tenth of the time that the deletion has taken, from a second to ten.
 */
export const nextCheckMilliseconds = (passedMilliseconds: number): number =>
  Math.min(10_000, Math.max(1000, passedMilliseconds / 10));

/** How many objects are looked at to say which finalizers they wait for. */
const maximumExamined = 500;

/**
 * Deletes everything in a namespace that is being deleted, then removes its finalizer so that it can go away. Pods go first: while
 * one ends, all else stays, because it may still need its Secrets and its account (upstream: KEP-5080, OrderedNamespaceDeletion).
 */
export function namespaceTermination(options: {
  /** Every namespaced resource that is stored. */
  readonly contents: readonly ResourceType[];
}): Controller {
  const pods = options.contents.filter(isPods);
  const others = options.contents.filter((resource) => !isPods(resource));
  return {
    name: "namespace",
    start(context) {
      const { client, clock, informers, names } = context;
      const namespaces = informers.of(namespaceResource(names));
      const queue = controllerQueue(context, {
        name: this.name,
        reconcile: async (name) => {
          const namespace = namespaces.get(name);
          if (namespace?.metadata.deletionTimestamp === undefined)
            return "nothing to do: the namespace is not being deleted";
          if (!namespace.spec?.finalizers?.includes(finalizer))
            return "nothing to do: the namespace was emptied before";
          const passed = clock.now() - Date.parse(namespace.metadata.deletionTimestamp);
          if (passed < graceMilliseconds) {
            queue.addAfter(name, Math.min(graceMilliseconds - passed, graceMilliseconds));
            return "waits: a user who deletes the namespace may delete its objects too";
          }
          const progress = await emptyAll(name);
          if (!isEmptied(progress)) {
            const { remaining, failures } = progress;
            await report(namespace, progress);
            queue.addAfter(name, nextCheckMilliseconds(passed));
            const left = [...remaining.map(({ resource }) => resource), ...failures];
            return `waits: objects remain: ${left.join(", ")}`;
          }
          const finalized: Namespace = {
            ...namespace,
            spec: { ...namespace.spec, finalizers: namespace.spec.finalizers.filter((one) => one !== finalizer) },
          };
          await ignoreCodes(
            [404],
            client.resource(namespaceResource(names)).update(finalized, { subresource: "finalize" }),
          );
          return "emptied the namespace and removed its finalizer";
        },
      });

      async function emptyAll(namespace: string): Promise<EmptyingProgress> {
        const progress = await emptyEach(pods, namespace);
        return isEmptied(progress) ? emptyEach(others, namespace) : progress;
      }

      async function emptyEach(resources: readonly ResourceType[], namespace: string): Promise<EmptyingProgress> {
        const failures: string[] = [];
        const remaining = await Promise.all(
          resources.map(async (resource) => {
            try {
              return await empty(resource, client.resource(resource, namespace));
            } catch (error) {
              failures.push(messageOf(error));
              return undefined;
            }
          }),
        );
        return { remaining: remaining.filter((one) => one !== undefined), failures };
      }

      /** Says in the namespace's conditions what its deletion waits for. */
      async function report(namespace: Namespace, progress: EmptyingProgress): Promise<void> {
        const before = namespace.status.conditions ?? [];
        const conditions = namespaceConditions(before, { ...progress, now: clock.now() });
        if (conditions === before) return;
        const reported: Namespace = { ...namespace, status: { ...namespace.status, conditions: [...conditions] } };
        await ignoreCodes([404], client.resource(namespaceResource(names)).update(reported, { subresource: "status" }));
      }

      const addTerminating = ({ metadata }: Namespace): void => {
        if (metadata.deletionTimestamp !== undefined) queue.add(metadata.name ?? "");
      };
      namespaces.addHandler({ onAdd: addTerminating, onUpdate: addTerminating });
      return { queue };
    },
  };
}

const isPods = ({ group, plural }: ResourceType): boolean => group === "" && plural === "pods";

const isEmptied = ({ remaining, failures }: EmptyingProgress): boolean =>
  remaining.length === 0 && failures.length === 0;

/** Deletes what is there. Returns what remains, or undefined where nothing does. */
async function empty(
  { plural, group }: ResourceType,
  inNamespace: ResourceClient<ApiObject>,
): Promise<RemainingContent | undefined> {
  const before = await inNamespace.list({ limit: 1 });
  if (before.items.length === 0) return undefined;
  await inNamespace.deleteCollection();
  const { items, metadata } = await inNamespace.list({ limit: maximumExamined });
  if (items.length === 0) return undefined;
  const finalizers = new Map<string, number>();
  for (const one of items.flatMap((object) => object.metadata.finalizers ?? [])) {
    finalizers.set(one, (finalizers.get(one) ?? 0) + 1);
  }
  return { resource: `${plural}.${group}`, count: items.length + (metadata.remainingItemCount ?? 0), finalizers };
}
