import type { AdmissionAttributes, AdmissionRule, Authorize, Decision } from "../../../machinery/api/attributes.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import type { OwnerReference } from "../../../machinery/api/object-meta.ts";
import { admissionForbidden } from "../../../machinery/registry/admission.ts";
import { ownersOf } from "../../../machinery/registry/writes/owner-references.ts";

interface OwnerResource {
  readonly group: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
}

interface OwnerReferencesPermissionOptions {
  readonly authorize: Authorize;
  /** The resource of a kind. Undefined when this server has none. */
  findResource(kind: { readonly apiVersion: string; readonly kind: string }): OwnerResource | undefined;
}

/**
 * An owner reference can cause the deletion of its object, and `blockOwnerDeletion` can delay the owner's deletion. So
 * changing references requires permission to delete the object, and blocking an owner requires permission to set its
 * finalizers (upstream: OwnerReferencesPermissionEnforcement).
 */
export function ownerReferencesPermission(options: OwnerReferencesPermissionOptions): AdmissionRule {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    // Not for the status of Pods, through which a node agent sets the owner of Pods that it has created itself.
    appliesTo: ({ resource, subresource, object, oldObject }) =>
      object !== undefined &&
      !(resource === "pods" && subresource === "status") &&
      !isSemanticallyEqual(ownersOf(object), ownersOf(oldObject)),
    async validate(attributes) {
      const [next, previous] = [ownersOf(attributes.object), ownersOf(attributes.oldObject)];
      if (attributes.operation !== "CREATE") await checkDelete(attributes, options);
      const wasBlocking = new Set(previous.filter(isBlocking).map(({ uid }) => uid));
      const blocking = next.filter((reference) => isBlocking(reference) && !wasBlocking.has(reference.uid));
      if (blocking.length === 0 || (await mayFinalizeAnything(attributes, options))) return;
      for (const reference of distinctOwners(attributes, blocking)) {
        await checkFinalizers(attributes, { options, reference });
      }
    },
  };
}

/** The most owners that an object may newly block: real objects block a few, and each costs an authorization check. */
const maximumBlocking = 100;

function distinctOwners(attributes: AdmissionAttributes, references: readonly OwnerReference[]): OwnerReference[] {
  const byOwner = new Map(
    references.map((reference) => [JSON.stringify([reference.apiVersion, reference.kind, reference.name]), reference]),
  );
  if (byOwner.size <= maximumBlocking) return [...byOwner.values()];
  throw admissionForbidden(attributes, `cannot set blockOwnerDeletion for more than ${maximumBlocking} owners`);
}

const isBlocking = ({ blockOwnerDeletion }: OwnerReference): boolean => blockOwnerDeletion === true;

/** The reason of a decision in upstream's format, with `<nil>` for no error. */
const reasonOf = ({ reason, evaluationError }: Decision): string => `${reason}, ${evaluationError ?? "<nil>"}`;

async function checkDelete(
  attributes: AdmissionAttributes,
  { authorize }: OwnerReferencesPermissionOptions,
): Promise<void> {
  const { user, group, version, resource, subresource, namespace, name } = attributes;
  const decision = await authorize({
    kind: "resource",
    user,
    verb: "delete",
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  });
  if (decision.decision === "allow") return;
  throw admissionForbidden(attributes, `cannot set an ownerRef on a resource you can't delete: ${reasonOf(decision)}`);
}

async function mayFinalizeAnything(
  { user }: AdmissionAttributes,
  { authorize }: OwnerReferencesPermissionOptions,
): Promise<boolean> {
  const anything = { group: "*", version: "*", resource: "*", subresource: "finalizers", namespace: "", name: "*" };
  return (await authorize({ kind: "resource", user, verb: "update", ...anything })).decision === "allow";
}

async function checkFinalizers(
  attributes: AdmissionAttributes,
  { options, reference }: { readonly options: OwnerReferencesPermissionOptions; readonly reference: OwnerReference },
): Promise<void> {
  const { apiVersion, kind, name } = reference;
  const owner = options.findResource({ apiVersion, kind });
  if (owner === undefined) {
    throw admissionForbidden(
      attributes,
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
    );
  }
  const decision = await options.authorize({
    kind: "resource",
    user: attributes.user,
    verb: "update",
    group: owner.group,
    version: apiVersion.slice(apiVersion.indexOf("/") + 1),
    resource: owner.resource,
    subresource: "finalizers",
    namespace: owner.isNamespaced ? attributes.namespace : "",
    name,
  });
  if (decision.decision === "allow") return;
  throw admissionForbidden(
    attributes,
    `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reasonOf(decision)}`,
  );
}
