import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { namespaceResource } from "../core/index.ts";
import { serviceAccountResource } from "./resources.ts";

export const defaultAccountName = "default";

/** Creates the service account `default` of a namespace. Does nothing when it exists. */
export async function createDefaultAccount(
  client: ApiClient,
  { names, namespace }: { readonly names: Names; readonly namespace: string },
): Promise<void> {
  const account = { metadata: { name: defaultAccountName } };
  await ignoreCodes([409], client.resource(serviceAccountResource(names), namespace).create(account));
}

/** Keeps a service account `default` in every namespace that is not being deleted. */
export const defaultServiceAccount: Controller = {
  name: "serviceaccount",
  start(context) {
    const { client, informers, names } = context;
    const namespaces = informers.of(namespaceResource(names));
    const accounts = informers.of(serviceAccountResource(names));
    const queue = controllerQueue(context, {
      reconcile: async (name) => {
        const namespace = namespaces.get(name);
        if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) {
          return "nothing to do: the namespace is gone or being deleted";
        }
        if (accounts.get(`${name}/${defaultAccountName}`) !== undefined) return "nothing to do: the account exists";
        await createDefaultAccount(client, { names, namespace: name });
        return "created the account";
      },
    });
    namespaces.addHandler({
      onAdd: ({ metadata }) => queue.add(metadata.name ?? ""),
      onUpdate: ({ metadata }) => queue.add(metadata.name ?? ""),
    });
    accounts.addHandler({
      onDelete: ({ metadata }) => {
        if (metadata.name === defaultAccountName) queue.add(metadata.namespace ?? "");
      },
    });
    return { queue };
  },
};
