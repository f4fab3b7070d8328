import { subjectsOf } from "../../features/access/rbac/subjects-of.ts";
import { parseStorageKey } from "../../machinery/registry/stored/storage-key.ts";
import { stateOf } from "../../machinery/storage/copy-objects.ts";
import type { CopiedObject } from "../../machinery/storage/copy-objects.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

interface StoredBinding {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** The most bindings that findings name. */
const namedBindings = 20;

/** Finds bindings whose role or service account does not exist. A user who creates the missing object receives what they grant. */
export async function examineBindings(store: Store): Promise<Finding[]> {
  const names = new Set<string>();
  const bindings: StoredBinding[] = [];
  for await (const object of (await stateOf(store, { showsDamaged: true })).objects())
    collect(object, { names, bindings });
  const orphaned = bindings.flatMap((binding) => {
    const what = [binding.metadata.namespace, binding.metadata.name].filter(Boolean).join("/");
    return faultsOf(binding, names).map((fault) => `binding ${what}: ${fault}`);
  });
  if (orphaned.length === 0) return [good("bindings", `${bindings.length} bindings name what exists`)];
  const findings = orphaned
    .slice(0, namedBindings)
    .map((found) => warning("bindings", { found, advice: "delete the binding, or create what it names" }));
  const others = orphaned.length - namedBindings;
  return others > 0
    ? [...findings, warning("bindings", { found: `and ${others} more`, advice: "as above" })]
    : findings;
}

function collect(
  { key, value, unreadable }: CopiedObject,
  { names, bindings }: { readonly names: Set<string>; readonly bindings: StoredBinding[] },
): void {
  const { resource = "", path = "" } = parseStorageKey(key) ?? {};
  const [plural = ""] = resource.split(".", 1);
  if (["roles", "clusterroles", "serviceaccounts"].includes(plural)) {
    names.add(`${plural}/${path}`); // an object that can't be read exists too
  } else if (plural === "rolebindings" || plural === "clusterrolebindings") {
    if (unreadable !== undefined) return; // examineEncryption says so
    bindings.push(JSON.parse(value.toString("utf8")) as StoredBinding); // validated when it was written
  }
}

function faultsOf(binding: StoredBinding, names: ReadonlySet<string>): string[] {
  const { metadata, roleRef } = binding;
  const role =
    roleRef?.kind === "Role" ? `roles/${metadata.namespace}/${roleRef.name}` : `clusterroles/${roleRef?.name}`;
  const missing = subjectsOf(binding).filter(
    ({ kind, namespace, name }) => kind === "ServiceAccount" && !names.has(`serviceaccounts/${namespace}/${name}`),
  );
  return [
    ...(names.has(role) ? [] : [`${roleRef?.kind} ${roleRef?.name} does not exist`]),
    ...missing.map(({ namespace, name }) => `service account ${namespace}/${name} does not exist`),
  ];
}
