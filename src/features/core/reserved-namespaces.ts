import { namespaceResource } from "./resources.ts";
import type { PolicyKeeper } from "../access/policy/reconcile-policy.ts";

/** Creates the namespaces that every server has: default, and the system's own. */
export async function createReservedNamespaces({ names, registry, client }: PolicyKeeper): Promise<void> {
  const namespaces = client.resource(namespaceResource(names));
  const { system, public: everyone, nodeLease } = names.namespaces;
  const missing = ["default", system, everyone, nodeLease].filter(
    (name) => registry("namespaces").peek({ namespace: "", name }) === undefined,
  );
  await Promise.all(
    missing.map((name) =>
      namespaces.create({ apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {}, status: {} }),
    ),
  );
}
