import { namespaceResource } from "./resources.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import type { Stores } from "../../machinery/registry/stores.ts";

/**
 * Creates the namespaces that every server has: default, and the system's own. Labels those from before the server had two
 * names for each label.
 */
export async function createReservedNamespaces({
  names,
  stores,
  client,
}: {
  readonly names: Names;
  readonly stores: Stores;
  readonly client: ApiClient;
}): Promise<void> {
  const namespaces = client.resource(namespaceResource(names));
  const { system, public: everyone, nodeLease } = names.namespaces;
  const missing = ["default", system, everyone, nodeLease].filter(
    (name) => stores.of(namespaceResource).peek({ namespace: "", name }) === undefined,
  );
  await Promise.all(
    missing.map((name) =>
      namespaces.create({ apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {}, status: {} }),
    ),
  );
  if (names.other === undefined) return;
  const { items } = await namespaces.list({ labelSelector: `!${names.other.key("metadata.name")}` });
  // Every write sets the labels that are missing.
  for (const namespace of items) await namespaces.update(namespace);
}
