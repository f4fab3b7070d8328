import { labelMatcher, requirementsOf } from "../../../machinery/api/selectors/label-selector.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { collectionRange } from "../../../machinery/registry/stored/storage-key.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import type { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { ParamRef } from "../policies/validating-admission-policy-bindings.ts";
import type { PolicySpec } from "../policies/policy-schema.ts";

/** A binding cannot be evaluated. The message is the reason. */
export class ConfigurationFault extends Error {}

/** A policy is evaluated for each param, so more params are a mistake. */
const maximumParams = 100;

/** The registry of a policy's params. Undefined: this server does not have their kind. */
export const findParamKind = (
  { registries }: Pick<Stores, "registries">,
  { apiVersion, kind }: NonNullable<PolicySpec["paramKind"]>,
): ResourceRegistry | undefined =>
  registries
    .flatMap(({ versions }) => versions)
    .find((one) => one.apiVersion === apiVersion && one.definition.kind === kind);

interface ParamsRequest {
  readonly paramRef: ParamRef | undefined;
  /** The namespace of the written object. */
  readonly namespace: string;
  /** A selector looks through a whole namespace, or everything, with pauses in between. */
  readonly work: LongWork;
}

/**
 * The params of a binding (upstream: `CollectParams`, with its messages). The list may be empty. For a policy without params, which has no
 * registry, it is a single `null`. Rejects with ConfigurationFault. The caches must be fresh.
 */
export async function collectParams(
  registry: ResourceRegistry | undefined,
  { paramRef, namespace, work }: ParamsRequest,
): Promise<readonly (ApiObject | null)[]> {
  if (registry === undefined || paramRef === undefined) return [null];
  const place = { paramRef, namespace: namespaceOf(registry, { paramRef, namespace }) };
  const params = await paramsOf(registry, { ...place, work });
  if (params.length === 0 && paramRef.parameterNotFoundAction === "Deny") {
    throw new ConfigurationFault("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return params.map((one) => registry.served.object(one));
}

interface ParamPlace {
  readonly paramRef: ParamRef;
  readonly namespace: string;
}

function namespaceOf({ definition }: ResourceRegistry, { paramRef, namespace }: ParamPlace): string {
  const given = paramRef.namespace ?? "";
  if (definition.scope === "Cluster") {
    if (given === "") return "";
    throw new ConfigurationFault("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  const where = given === "" ? namespace : given;
  if (where !== "") return where;
  throw new ConfigurationFault(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}

async function paramsOf(
  registry: ResourceRegistry,
  { paramRef, namespace, work }: ParamPlace & Pick<ParamsRequest, "work">,
): Promise<ApiObject[]> {
  const { name = "", selector } = paramRef;
  if (name !== "") {
    const found = registry.peek({ namespace, name });
    return found === undefined ? [] : [found.object];
  }
  const isSelected = labelMatcher(requirementsOf(selector ?? {}));
  const found: ApiObject[] = [];
  for (const stored of registry.cache.snapshot(collectionRange(registry.definition, namespace))) {
    const pause = work.pause();
    if (pause !== undefined) await pause;
    if (!isSelected(stored.labels)) continue;
    if (found.length === maximumParams) {
      throw new ConfigurationFault(`the selector of paramRef finds more than ${maximumParams} params`);
    }
    found.push(stored.object);
  }
  return found;
}
