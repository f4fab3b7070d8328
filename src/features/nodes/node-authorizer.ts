import type { ResourceAttributes, Decision } from "../../machinery/api/attributes.ts";
import { requiredFieldValue } from "../../machinery/api/field-selector.ts";
import type { Names } from "../../machinery/api/names.ts";
import { memberNodeNameOf } from "../../machinery/api/user-info.ts";
import type { AuthorizerInMemory } from "../../machinery/authorization/authorizer.ts";
import { ruleAllows } from "../access/index.ts";
import type { PolicyRule } from "../access/index.ts";

/** The objects that the Pods of each node refer to, cached in memory. */
export interface NodeObjects {
  /** Whether a Pod on the node refers to the object, or runs as the account. */
  isReferenced(
    node: string,
    object: {
      readonly resource: "secrets" | "configmaps" | "serviceaccounts";
      readonly namespace: string;
      readonly name: string;
    },
  ): boolean;
  /** The node that a Pod is bound to, or undefined. */
  nodeOfPod(namespace: string, name: string): string | undefined;
}

export interface NodeAuthorizerOptions {
  readonly names: Names;
  readonly objects: NodeObjects;
  /** The rules of the role `system:node`. They apply to every node where this authorizer has no stricter rule. */
  readonly rules: readonly PolicyRule[];
}

const noOpinion = (reason: string): Decision => ({ decision: "noOpinion", reason });
const allowed: Decision = { decision: "allow", reason: "" };

/**
 * Limits nodes to their own objects (upstream: `node.NodeAuthorizer`): Secrets, ConfigMaps, accounts and tokens that
 * Pods on the node refer to, Pods on the node, its own Node and Lease. It has no opinion about other users.
 */
export function nodeAuthorizer({ names, objects, rules }: NodeAuthorizerOptions): AuthorizerInMemory {
  const coordination = names.group("coordination");

  const limit = (node: string, attributes: ResourceAttributes): string | undefined => {
    const { group, resource } = attributes;
    if (group === coordination && resource === "leases") return leaseLimit(node, attributes);
    if (group !== "") return undefined;
    if (resource === "secrets" || resource === "configmaps") return referenceLimit(node, { ...attributes, resource });
    if (resource === "serviceaccounts") return accountLimit(node, attributes);
    if (resource === "pods") return podLimit(node, attributes);
    if (resource === "nodes") return nodeLimit(node, attributes);
    return undefined;
  };

  const leaseLimit = (node: string, { namespace, name, verb }: ResourceAttributes): string | undefined => {
    if (namespace !== names.namespaces.nodeLease)
      return `can only access leases in the ${names.namespaces.nodeLease} namespace`;
    return verb !== "create" && name !== node
      ? "can only access node lease with the same name as the requesting node"
      : undefined;
  };

  const referenceLimit = (
    node: string,
    { resource, namespace, name, verb, subresource }: ResourceAttributes & { resource: "secrets" | "configmaps" },
  ): string | undefined => {
    if (subresource !== "") return "cannot access subresource";
    if (!["get", "list", "watch"].includes(verb)) return "can only read resources of this type";
    if (name === "" || namespace === "") return "No Object name found";
    return objects.isReferenced(node, { resource, namespace, name })
      ? undefined
      : `no relationship found between node '${node}' and this object`;
  };

  const accountLimit = (node: string, attributes: ResourceAttributes): string | undefined => {
    const { namespace, name, verb, subresource } = attributes;
    const isToken = subresource === "token";
    if (isToken ? verb !== "create" : verb !== "get" || subresource !== "") {
      return "can only get individual service accounts and create tokens for them";
    }
    return objects.isReferenced(node, { resource: "serviceaccounts", namespace, name })
      ? undefined
      : `no relationship found between node '${node}' and this object`;
  };

  const podLimit = (node: string, attributes: ResourceAttributes): string | undefined => {
    const { namespace, name, verb } = attributes;
    if (verb === "create") return undefined; // the admission rule NodeRestriction checks the object
    if (verb === "list" || verb === "watch") {
      return requiredFieldValue(attributes.fieldSelector ?? [], "spec.nodeName") === node
        ? undefined
        : "can only list/watch pods with spec.nodeName field selector";
    }
    return objects.nodeOfPod(namespace, name) === node
      ? undefined
      : `no relationship found between node '${node}' and this object`;
  };

  return (attributes) => {
    const node = memberNodeNameOf(attributes.user);
    if (node === undefined || node === "") return noOpinion("");
    const fault = attributes.kind === "resource" ? limit(node, attributes) : undefined;
    if (fault !== undefined) return noOpinion(`node authorizer: ${fault}`);
    return rules.some((rule) => ruleAllows(rule, attributes)) ? allowed : noOpinion("");
  };
}

/** A node may create its own Node and read it. It can neither get nor list other Nodes. */
function nodeLimit(node: string, { verb, name }: ResourceAttributes): string | undefined {
  if (verb === "create") return undefined;
  return name === node ? undefined : `node '${node}' cannot access node '${name}'`;
}
