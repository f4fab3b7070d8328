import type { Environment } from "@marcbachmann/cel-js";
import { isEqualValue } from "../../../machinery/expressions/compare-values.ts";
import { kubernetesEnvironment } from "../../../machinery/expressions/kubernetes-environment.ts";
import type { GroupVersionKind } from "../../../machinery/api/resource-type.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { addAuthorizerFunctions } from "./authorizer-functions.ts";

interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/**
 * The variable `request` (upstream: `AdmissionRequest`, without `options`). Expressions that read other fields do not compile, because a
 * condition on a field that never exists would let every write pass.
 */
interface RequestFields {
  readonly kind: GroupVersionKind;
  readonly resource: ResourceName;
  readonly subResource: string;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: ResourceName;
  readonly requestSubResource: string;
  readonly name: string;
  readonly namespace: string;
  readonly operation: string;
  readonly userInfo: UserInfo;
  readonly dryRun: boolean;
}

/** Leaves an empty field out of a request, as upstream does: for CEL, an undefined field does not exist. */
const unlessEmpty = (text: string): string | undefined => (text === "" ? undefined : text);

/** A class, because the CEL library identifies types by their classes. */
class KindOf implements GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  constructor({ group, version, kind }: GroupVersionKind) {
    this.group = group;
    this.version = version;
    this.kind = kind;
  }
}
class ResourceOf implements ResourceName {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  constructor({ group, version, resource }: ResourceName) {
    this.group = group;
    this.version = version;
    this.resource = resource;
  }
}
class UserOf {
  readonly username: string;
  readonly uid: string | undefined;
  readonly groups: UserInfo["groups"] | undefined;
  /** A map, because its keys may have any name. */
  readonly extra: ReadonlyMap<string, readonly string[]> | undefined;
  constructor({ username, uid = "", groups, extra }: UserInfo) {
    this.username = username;
    this.uid = unlessEmpty(uid);
    this.groups = groups.length === 0 ? undefined : groups;
    const entries = Object.entries(extra);
    this.extra = entries.length === 0 ? undefined : new Map(entries);
  }
}

export class CelRequest {
  readonly kind: GroupVersionKind;
  readonly resource: ResourceName;
  readonly subResource: string | undefined;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: ResourceName;
  readonly requestSubResource: string | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly operation: string;
  readonly userInfo: UserOf;
  readonly dryRun: boolean;

  constructor(fields: RequestFields) {
    this.kind = new KindOf(fields.kind);
    this.resource = new ResourceOf(fields.resource);
    this.subResource = unlessEmpty(fields.subResource);
    this.requestKind = new KindOf(fields.requestKind);
    this.requestResource = new ResourceOf(fields.requestResource);
    this.requestSubResource = unlessEmpty(fields.requestSubResource);
    this.name = unlessEmpty(fields.name);
    this.namespace = unlessEmpty(fields.namespace);
    this.operation = fields.operation;
    this.userInfo = new UserOf(fields.userInfo);
    this.dryRun = fields.dryRun;
  }
}

/** The type of the variable `variables`. */
class CelVariables {
  readonly areLazy = true;
}

/** Variables that are evaluated when they are first read, and only once for each evaluation of a policy. */
export function celVariables(variables: Iterable<readonly [name: string, evaluate: () => unknown]>): CelVariables {
  const made = new CelVariables();
  for (const [name, evaluate] of variables) {
    Object.defineProperty(made, name, { get: once(evaluate), enumerable: true });
  }
  return made;
}

function once(evaluate: () => unknown): () => unknown {
  let result: { readonly value: unknown } | { readonly error: unknown } | undefined;
  return () => {
    if (result === undefined) {
      try {
        result = { value: evaluate() };
      } catch (error) {
        result = { error };
      }
    }
    if ("error" in result) throw result.error;
    return result.value;
  };
}

export interface EnvironmentOptions {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
}

const base = new Map<string, Environment>();

/** The environment of a policy's expressions. `variables` has the types of the variables that were compiled so far. */
export function policyEnvironment(
  { hasParams, hasAuthorizer }: EnvironmentOptions,
  variables: ReadonlyMap<string, string>,
): Environment {
  const key = `${hasParams}/${hasAuthorizer}`;
  let environment = base.get(key);
  if (environment === undefined) base.set(key, (environment = baseEnvironment({ hasParams, hasAuthorizer })));
  const fields = Object.fromEntries([...variables].map(([name, type]) => [name, usableType(type)]));
  return environment
    .clone()
    .registerType("kubernetes.Variables", { ctor: CelVariables, fields })
    .registerVariable("variables", "kubernetes.Variables");
}

function baseEnvironment({ hasParams, hasAuthorizer }: EnvironmentOptions): Environment {
  const environment = kubernetesEnvironment()
    .registerVariable("object", "dyn")
    .registerVariable("oldObject", "dyn")
    .registerVariable("namespaceObject", "dyn")
    .registerType("kubernetes.GroupVersionKind", {
      ctor: KindOf,
      fields: { group: "string", version: "string", kind: "string" },
    })
    .registerType("kubernetes.GroupVersionResource", {
      ctor: ResourceOf,
      fields: { group: "string", version: "string", resource: "string" },
    })
    .registerType("kubernetes.UserInfo", {
      ctor: UserOf,
      fields: { username: "string", uid: "string", groups: "list<string>", extra: "map<string, list<string>>" },
    })
    .registerType("kubernetes.AdmissionRequest", {
      ctor: CelRequest,
      fields: {
        kind: "kubernetes.GroupVersionKind",
        resource: "kubernetes.GroupVersionResource",
        subResource: "string",
        requestKind: "kubernetes.GroupVersionKind",
        requestResource: "kubernetes.GroupVersionResource",
        requestSubResource: "string",
        name: "string",
        namespace: "string",
        operation: "string",
        userInfo: "kubernetes.UserInfo",
        dryRun: "bool",
      },
    })
    .registerVariable("request", "kubernetes.AdmissionRequest");
  // For `request.kind == request.requestKind`: the library compares only types with a registered operator.
  for (const type of ["kubernetes.GroupVersionKind", "kubernetes.GroupVersionResource"]) {
    environment.registerOperator(`${type} == ${type}`, isEqualValue);
  }
  if (hasParams) environment.registerVariable("params", "dyn");
  if (hasAuthorizer) {
    addAuthorizerFunctions(environment);
    environment.registerVariable("authorizer", "kubernetes.authorization.Authorizer");
  }
  return environment;
}

/** The type of a variable, if fields can be registered with it. Otherwise `dyn`: the type is determined when the variable is read. */
export const usableType = (type: string): string =>
  /^(?:bool|int|uint|double|string|bytes|list|map|list<(?:bool|int|double|string)>|map<string, (?:string|int|bool)>)$/.test(
    type,
  )
    ? type
    : "dyn";
