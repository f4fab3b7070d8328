import { notFound } from "../../../machinery/api/api-error.ts";
import type { AdmissionAttributes, AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { admissionForbidden, withCauses } from "../../../machinery/registry/admission.ts";

interface NamespaceState {
  readonly status?: { readonly phase?: string };
}

interface NamespaceLifecycleOptions {
  readonly names: Names;
  /**
   * Finds the namespace. Undefined: there is none in the newest state, with every acknowledged write applied. A found one may be a little
   * older: every write before the request is applied.
   */
  findNamespace(name: string): NamespaceState | undefined | Promise<NamespaceState | undefined>;
}

/**
 * Refuses to create objects in a namespace that does not exist or is being deleted, and to delete the namespaces that
 * the server needs (upstream: NamespaceLifecycle).
 */
export function namespaceLifecycle({ names, findNamespace }: NamespaceLifecycleOptions): AdmissionRule {
  const protectedNamespaces = new Set(["default", names.namespaces.system, names.namespaces.public]);
  const reviews = names.group("authorization");
  const isOfNamespace = ({ group, resource }: AdmissionAttributes): boolean =>
    group === "" && resource === "namespaces";
  return {
    name: "NamespaceLifecycle",
    // Objects in a namespace may always be deleted. A review must not reveal which namespaces exist.
    appliesTo: (attributes) =>
      isOfNamespace(attributes)
        ? attributes.operation === "DELETE" && protectedNamespaces.has(attributes.name)
        : attributes.namespace !== "" && attributes.operation !== "DELETE" && attributes.group !== reviews,
    async admit(attributes) {
      if (isOfNamespace(attributes)) throw admissionForbidden(attributes, "this namespace may not be deleted");
      const { operation, namespace, object } = attributes;
      const found = findNamespace(namespace);
      const state = found instanceof Promise ? await found : found;
      if (state === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
      if (operation === "CREATE" && state.status?.phase === "Terminating" && object !== undefined) {
        throw withCauses(
          admissionForbidden(
            attributes,
            `unable to create new content in namespace ${namespace} because it is being terminated`,
          ),
          [
            {
              reason: "NamespaceTerminating",
              message: `namespace ${namespace} is being terminated`,
              field: "metadata.namespace",
            },
          ],
        );
      }
      return undefined;
    },
  };
}
