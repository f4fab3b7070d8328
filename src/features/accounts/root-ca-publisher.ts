import type { ConfigMap } from "../core/index.ts";
import type { NewObject } from "../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { configMapResource, namespaceResource } from "../core/index.ts";
import { authorityQueue } from "./authority-queue.ts";

/** Keeps a ConfigMap with the server's CAs in every namespace: creates, restores and corrects it. */
export function rootCaPublisher({ caCertificates }: { readonly caCertificates: () => string }): Controller {
  return {
    name: "root-ca-cert-publisher",
    start(context) {
      const { client, informers, names } = context;
      const namespaces = informers.of(namespaceResource(names));
      const configMaps = informers.of(configMapResource(names));
      const descriptionKey = names.key("description");
      const described = { [descriptionKey]: "The CA bundle that verifies this API server's certificate." };
      const wanted = (): NewObject<ConfigMap> => ({
        metadata: { name: names.rootCaConfigMap, annotations: described },
        data: { "ca.crt": caCertificates() },
      });
      /** Any text is allowed in the description, as in upstream. */
      const isAsWanted = ({ metadata, data = {} }: ConfigMap): boolean =>
        Object.keys(data).length === 1 &&
        data["ca.crt"] === caCertificates() &&
        (metadata.annotations?.[descriptionKey] ?? "") !== "";
      const started = authorityQueue(context, {
        caCertificates,
        everyKey: () => Array.from(namespaces.list(), ({ metadata }) => metadata.name ?? ""),
        reconcile: async (name) => {
          const namespace = namespaces.get(name);
          if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) {
            return "nothing to do: the namespace is gone or being deleted";
          }
          const current = configMaps.get(`${name}/${names.rootCaConfigMap}`);
          const inNamespace = client.resource(configMapResource(names), name);
          if (current === undefined) {
            await ignoreCodes([409], inNamespace.create(wanted()));
            return "created the ConfigMap";
          }
          if (isAsWanted(current)) return "nothing to do: the ConfigMap is current";
          const metadata = { ...current.metadata, annotations: { ...current.metadata.annotations, ...described } };
          await inNamespace.update({ ...current, metadata, data: { "ca.crt": caCertificates() } });
          return "corrected the ConfigMap";
        },
      });
      const { queue } = started;
      namespaces.addHandler({
        onAdd: ({ metadata }) => queue.add(metadata.name ?? ""),
        onUpdate: ({ metadata }) => queue.add(metadata.name ?? ""),
      });
      const onConfigMap = ({ metadata }: ConfigMap): void => {
        if (metadata.name === names.rootCaConfigMap) queue.add(metadata.namespace ?? "");
      };
      configMaps.addHandler({ onAdd: onConfigMap, onUpdate: onConfigMap, onDelete: onConfigMap });
      return started;
    },
  };
}
