import { resourceReferences } from "../../machinery/client/resource-references.ts";
import type { PolicyKeeper } from "../access/policy/reconcile-policy.ts";

/** Creates the namespaces of every server: default, and the system's own. */
export async function createReservedNamespaces({ names, registry, client }: PolicyKeeper): Promise<void> {
  const { namespaces } = resourceReferences(names);
  const { system, public: everyone, nodeLease } = names.namespaces;
  const missing = ["default", system, everyone, nodeLease].filter(
    (name) => registry("namespaces").peek({ namespace: "", name }) === undefined,
  );
  await Promise.all(
    missing.map((name) =>
      client
        .resource(namespaces)
        .create({ apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {}, status: {} }),
    ),
  );
}
