import type { Namespace } from "./namespaces.ts";
import type { ResourceType } from "../../machinery/api/resource-type.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { namespaceResource } from "./resources.ts";

const finalizer = "kubernetes";
/** Objects with finalizers are removed later: check again after this time. */
const retryMilliseconds = 1000;

/** Deletes everything in a namespace that is being deleted, then removes its finalizer so that it is removed. */
export function namespaceTermination(options: {
  /** Every namespaced resource that is stored. */
  readonly contents: readonly ResourceType[];
}): Controller {
  return {
    name: "namespace",
    start(context) {
      const { client, informers, names } = context;
      const namespaces = informers.of(namespaceResource(names));
      const queue = controllerQueue(this.name, context, async (name) => {
        const namespace = namespaces.get(name);
        if (namespace?.metadata.deletionTimestamp === undefined)
          return "nothing to do: the namespace is not being deleted";
        if (!namespace.spec?.finalizers?.includes(finalizer)) return "nothing to do: the namespace is already empty";
        const remaining = await Promise.all(options.contents.map((resource) => empty(resource, name)));
        const remainingKinds = options.contents.filter((_, index) => remaining[index]).map(({ plural }) => plural);
        if (remainingKinds.length > 0) {
          queue.addAfter(name, retryMilliseconds);
          return `waits: objects with finalizers remain: ${remainingKinds.join(", ")}`;
        }
        const finalized: Namespace = {
          ...namespace,
          spec: { ...namespace.spec, finalizers: namespace.spec.finalizers.filter((one) => one !== finalizer) },
        };
        await ignoring([404], client.resource(namespaceResource(names)).update(finalized, { subresource: "finalize" }));
        return "emptied the namespace and removed its finalizer";
      });

      /** Deletes what is there and says whether something remains. */
      async function empty(resource: ResourceType, namespace: string): Promise<boolean> {
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
