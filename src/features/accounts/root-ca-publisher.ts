import type { ConfigMap } from "../core/config-maps.ts";
import { controllerQueue, ignoring } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";

/** Keeps a ConfigMap with the server's CA in every namespace: creates, restores and corrects it. */
export function rootCaPublisher({ caCertificates }: { readonly caCertificates: string }): Controller {
  return {
    name: "root-ca-cert-publisher",
    start(context) {
      const { client, informers, references, names } = context;
      const namespaces = informers.of(references.namespaces);
      const configMaps = informers.of(references.configMaps);
      const wanted: ConfigMap = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: names.rootCaConfigMap,
          annotations: { [names.key("description")]: "The CA bundle that verifies this API server's certificate." },
        },
        data: { "ca.crt": caCertificates },
      };
      const queue = controllerQueue(this.name, context, async (name) => {
        const namespace = namespaces.get(name);
        if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
        const current = configMaps.get(`${name}/${names.rootCaConfigMap}`);
        const inNamespace = client.resource(references.configMaps, name);
        if (current === undefined) await ignoring([409], inNamespace.create(wanted));
        else if (!isAsWanted(current, caCertificates))
          await inNamespace.update({ ...current, data: { "ca.crt": caCertificates } });
      });
      namespaces.addHandler({
        onAdd: ({ metadata }) => queue.add(metadata.name ?? ""),
        onUpdate: ({ metadata }) => queue.add(metadata.name ?? ""),
      });
      const onConfigMap = ({ metadata }: ConfigMap): void => {
        if (metadata.name === names.rootCaConfigMap) queue.add(metadata.namespace ?? "");
      };
      configMaps.addHandler({ onAdd: onConfigMap, onUpdate: onConfigMap, onDelete: onConfigMap });
      return { queue };
    },
  };
}

const isAsWanted = ({ data = {} }: ConfigMap, caCertificates: string): boolean =>
  Object.keys(data).length === 1 && data["ca.crt"] === caCertificates;
