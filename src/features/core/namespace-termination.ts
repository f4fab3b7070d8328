import type { Namespace } from "./namespaces.ts";
import type { ResourceReference } from "../../machinery/client/api-client.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";

const finalizer = "kubernetes";
/** Objects with finalizers take time to go away: check again after this time. */
const retryMilliseconds = 1000;

/** Deletes everything in a namespace that is being deleted, then removes its finalizer so that it can go away. */
export function namespaceTermination(options: {
  /** Every stored namespaced resource. */
  readonly contents: readonly ResourceReference[];
}): Controller {
  return {
    name: "namespace",
    start(context) {
      const { client, informers, references } = context;
      const namespaces = informers.of(references.namespaces);
      const queue = controllerQueue(this.name, context, async (name) => {
        const namespace = namespaces.get(name);
        if (namespace?.metadata.deletionTimestamp === undefined) return;
        if (!namespace.spec?.finalizers?.includes(finalizer)) return;
        const remaining = await Promise.all(options.contents.map((resource) => empty(resource, name)));
        if (remaining.some((isNotEmpty) => isNotEmpty)) return queue.addAfter(name, retryMilliseconds);
        const finalized: Namespace = {
          ...namespace,
          spec: { ...namespace.spec, finalizers: namespace.spec.finalizers.filter((one) => one !== finalizer) },
        };
        await ignoring([404], client.resource(references.namespaces).update(finalized, { subresource: "finalize" }));
      });

      /** Deletes the existing objects. Returns whether any remain. */
      async function empty(resource: ResourceReference, namespace: string): Promise<boolean> {
        const inNamespace = client.resource(resource, namespace);
        const before = await inNamespace.list({ limit: 1 });
        if (before.items.length === 0) return false;
        await inNamespace.deleteCollection();
        return (await inNamespace.list({ limit: 1 })).items.length > 0;
      }

      const addTerminating = ({ metadata }: Namespace): void => {
        if (metadata.deletionTimestamp !== undefined) queue.add(metadata.name ?? "");
      };
      namespaces.addHandler({ onAdd: addTerminating, onUpdate: addTerminating });
      return { queue };
    },
  };
}
