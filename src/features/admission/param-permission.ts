import { goQuoted } from "../../machinery/api/text/format-value.ts";
import { invalid } from "../../machinery/api/api-error.ts";
import type {
  AdmissionAttributes,
  AdmissionRule,
  Authorize,
  ResourceAttributes,
} from "../../machinery/api/attributes.ts";
import { forbiddenField } from "../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import type { Names } from "../../machinery/api/names.ts";
import { parseApiVersion } from "../../machinery/api/resource-type.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { findParamKind } from "./evaluation/collect-params.ts";
import type { PolicySpec, ValidatingAdmissionPolicy } from "./policies/policy-schema.ts";
import type { ValidatingAdmissionPolicyBinding } from "./policies/validating-admission-policy-bindings.ts";
import { policyBindingResource, policyResource } from "./resources.ts";

interface ParamPermissionOptions {
  readonly names: Names;
  readonly stores: Stores;
  readonly authorize: Authorize;
}

type ParamKind = NonNullable<PolicySpec["paramKind"]>;

/** The permission that the writer of a policy or binding must have. */
interface NeededPermission extends Pick<ResourceAttributes, "verb" | "namespace" | "name"> {
  /** Undefined: any kind. */
  readonly paramKind: ParamKind | undefined;
}

/**
 * Who writes a policy must have permission to get every object of its `paramKind`. Who writes a binding must have permission to read the
 * objects of its `paramRef`. Otherwise the messages of a policy could show them everything in a param (upstream: `authorizeCreate` and
 * `authorizeUpdate` of both kinds).
 */
export function paramPermission(options: ParamPermissionOptions): AdmissionRule {
  const policies = policyResource(options.names);
  const bindings = policyBindingResource(options.names);
  return {
    name: "ParamPermission",
    appliesTo: ({ group, resource, subresource, operation }) =>
      group === policies.group &&
      (resource === policies.plural || resource === bindings.plural) &&
      subresource === "" &&
      operation !== "DELETE",
    validate: (attributes) =>
      attributes.resource === policies.plural ? checkPolicy(attributes, options) : checkBinding(attributes, options),
  };
}

async function checkPolicy(attributes: AdmissionAttributes, options: ParamPermissionOptions): Promise<void> {
  const { user, object, oldObject } = attributes;
  const { paramKind } = (object as ValidatingAdmissionPolicy).spec; // the resource determines the type
  const previous = (oldObject as ValidatingAdmissionPolicy | undefined)?.spec.paramKind;
  if (paramKind === undefined || isSemanticallyEqual(paramKind, previous)) return;
  if (await isPermitted(attributes, { options, needed: { verb: "get", namespace: "*", name: "*", paramKind } })) return;
  const { apiVersion = "", kind = "" } = paramKind;
  const kindText = `(kind=${kind}, apiVersion=${apiVersion})`;
  const who = `user ${goQuoted(user.username)}`;
  const detail = `${who} must have "get" permission on all objects of the referenced paramKind ${kindText}`;
  throw refusal(attributes, { field: "spec.paramKind", detail });
}

/**
 * Checks every write of a binding, as upstream does. A change of its labels is checked too, because the policy may have another `paramKind`
 * by now.
 */
async function checkBinding(attributes: AdmissionAttributes, options: ParamPermissionOptions): Promise<void> {
  const { user, object } = attributes;
  const { paramRef, policyName = "" } = (object as ValidatingAdmissionPolicyBinding).spec; // the resource determines the type
  if (paramRef === undefined) return;
  const { name = "", namespace = "" } = paramRef;
  const policy = await options.stores.findCurrent(policyResource, { namespace: "", name: policyName });
  const verb = name === "" ? "list" : "get";
  const needed = { verb, namespace, name, paramKind: policy?.spec.paramKind };
  if (await isPermitted(attributes, { options, needed })) return;
  const who = `user ${goQuoted(user.username)} does not have ${goQuoted(verb)} permission`;
  const detail =
    policy === undefined
      ? `unable to get policy ${policyName} to determine minimum required permissions and ${who} for all groups, versions and resources`
      : `${who} on the object referenced by paramRef`;
  throw refusal(attributes, { field: "spec.paramRef", detail });
}

async function isPermitted(
  { user }: AdmissionAttributes,
  { options, needed }: { readonly options: ParamPermissionOptions; readonly needed: NeededPermission },
): Promise<boolean> {
  const { paramKind, ...rest } = needed;
  const params = paramsOf(paramKind, options.stores);
  const { decision } = await options.authorize({ kind: "resource", user, subresource: "", ...params, ...rest });
  return decision === "allow";
}

/** The resource of a kind. An unknown kind may be served later, under any resource name. */
function paramsOf(
  paramKind: ParamKind | undefined,
  stores: Stores,
): Pick<ResourceAttributes, "group" | "version" | "resource"> {
  const anything = { group: "*", version: "*", resource: "*" };
  if (paramKind === undefined) return anything;
  const served = findParamKind(stores, paramKind)?.definition;
  if (served !== undefined) return { group: served.group, version: served.version, resource: served.plural };
  return { ...anything, ...parseApiVersion(paramKind.apiVersion ?? "") };
}

const refusal = (
  { requestedGroup, kind, name }: AdmissionAttributes,
  { field, detail }: { readonly field: string; readonly detail: string },
): Error => invalid({ group: requestedGroup, resource: kind }, { name, faults: [forbiddenField(field, detail)] });
