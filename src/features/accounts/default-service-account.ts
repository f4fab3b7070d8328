import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";

const accountName = "default";

/** Keeps a service account `default` in every namespace that is not being deleted. */
export const defaultServiceAccount: Controller = {
  name: "serviceaccount",
  start(context) {
    const { client, informers, references } = context;
    const namespaces = informers.of(references.namespaces);
    const accounts = informers.of(references.serviceAccounts);
    const queue = controllerQueue(this.name, context, async (name) => {
      const namespace = namespaces.get(name);
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) {
        return "nothing to do: the namespace is gone or being deleted";
      }
      if (accounts.get(`${name}/${accountName}`) !== undefined) return "nothing to do: the account exists";
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: accountName } };
      await ignoring([409], client.resource(references.serviceAccounts, name).create(account));
      return "created the account";
    });
    namespaces.addHandler({
      onAdd: ({ metadata }) => queue.add(metadata.name ?? ""),
      onUpdate: ({ metadata }) => queue.add(metadata.name ?? ""),
    });
    accounts.addHandler({
      onDelete: ({ metadata }) => {
        if (metadata.name === accountName) queue.add(metadata.namespace ?? "");
      },
    });
    return { queue };
  },
};
