import type { ResourceAttributes, Decision } from "../../machinery/api/attributes.ts";
import type { Names } from "../../machinery/api/names.ts";
import { qualified } from "../../machinery/api/resource-type.ts";
import { memberNodeNameOf } from "../../machinery/api/user-info.ts";
import type { AuthorizerInMemory } from "../../machinery/authorization/authorizer.ts";
import { ruleAllows } from "../access/index.ts";
import type { PolicyRule } from "../access/index.ts";

/** The objects that the Pods of each node make readable for it, cached in memory. */
export interface NodeObjects {
  /** Whether the object is a Pod on the node, or a Pod on the node refers to the object or runs as the account. */
  isRelated(
    node: string,
    object: { readonly resource: string; readonly namespace: string; readonly name: string },
  ): boolean;
}

interface NodeAuthorizerOptions {
  readonly names: Names;
  readonly objects: NodeObjects;
  /** The rules of the role `system:node`. They apply to every resource for which this authorizer has no rule of its own. */
  readonly rules: readonly PolicyRule[];
}

/** A request of a node. `node` is its name. */
type NodeAttributes = ResourceAttributes & { readonly node: string };

type Rule = (attributes: NodeAttributes) => Decision;

const allowed: Decision = { decision: "allow", reason: "" };
const noOpinion = (reason: string): Decision => ({ decision: "noOpinion", reason });
const undecided = noOpinion("");

/**
 * Limits nodes to their own objects (upstream: `node.NodeAuthorizer`, with its reasons): Secrets, ConfigMaps, accounts and tokens that Pods
 * on the node refer to, Pods on the node, its own Node, Lease and CSINode. It has no opinion about other users.
 *
 * Writes of Nodes and Pods, and creates of Leases and CSINodes, are allowed for every name: the admission rule NodeRestriction, which
 * cannot be switched off, knows the objects and refuses those of other nodes.
 */
export function nodeAuthorizer({ names, objects, rules }: NodeAuthorizerOptions): AuthorizerInMemory {
  const { readOfRelated, ofAccount, ofPod } = rulesForRelated(objects);
  const decisions = new Map<string, Rule>([
    ["secrets", readOfRelated],
    ["configmaps", readOfRelated],
    ["serviceaccounts", ofAccount],
    ["pods", ofPod],
    ["nodes", ofNode],
    [`leases.${names.group("coordination")}`, leaseRule(names.namespaces.nodeLease)],
    [`csinodes.${names.group("storage")}`, ofCsiNode],
  ]);

  return (attributes) => {
    const { user } = attributes;
    const node = memberNodeNameOf(user);
    if (node === undefined) return undecided;
    if (node === "") return noOpinion(`unknown node for user ${JSON.stringify(user.username)}`);
    if (attributes.kind === "resource") {
      const decide = decisions.get(qualified(attributes));
      if (decide !== undefined) return decide({ ...attributes, node });
    }
    return rules.some((rule) => ruleAllows(rule, attributes)) ? allowed : undecided;
  };
}

const isRead = ({ verb }: NodeAttributes): boolean => ["get", "list", "watch"].includes(verb);

/** The rules for objects that Pods on the node make readable for it. */
function rulesForRelated(objects: NodeObjects): Readonly<Record<"readOfRelated" | "ofAccount" | "ofPod", Rule>> {
  const ofRelated: Rule = (attributes) => {
    if (attributes.name === "") return noOpinion("No Object name found");
    return objects.isRelated(attributes.node, attributes)
      ? allowed
      : noOpinion(`no relationship found between node '${attributes.node}' and this object`);
  };

  const readOfRelated: Rule = (attributes) => {
    if (!isRead(attributes)) return noOpinion("can only read resources of this type");
    if (attributes.subresource !== "") return noOpinion("cannot read subresource");
    if (attributes.namespace === "") return noOpinion("can only read namespaced object of this type");
    return ofRelated(attributes);
  };

  const ofAccount: Rule = (attributes) => {
    const { verb, name, subresource } = attributes;
    if (verb === "get" && subresource === "") return readOfRelated(attributes);
    if (verb !== "create" || name === "") return noOpinion("can only create tokens for individual service accounts");
    if (subresource !== "token") return noOpinion("can only create token subresource of serviceaccount");
    return ofRelated(attributes);
  };

  const ofPod: Rule = (attributes) => {
    const { node, verb, name, subresource } = attributes;
    if (subresource === "status") return ["update", "patch"].includes(verb) ? allowed : undecided;
    if (subresource === "eviction") return verb === "create" ? allowed : undecided;
    if (subresource !== "") return undecided;
    if (verb === "create" || verb === "delete") return allowed;
    if (verb === "get") return ofRelated(attributes);
    if (!isRead(attributes)) return undecided;
    const isOfNode = (attributes.fieldSelector ?? []).some(
      ({ field, operator, value }) => field === "spec.nodeName" && operator === "=" && value === node,
    );
    if (isOfNode) return allowed;
    return name === ""
      ? noOpinion("can only list/watch pods with spec.nodeName field selector")
      : ofRelated(attributes);
  };

  return { readOfRelated, ofAccount, ofPod };
}

/** The rule for Nodes. A node may read its own Node even before it exists. */
function ofNode({ node, verb, name, subresource }: NodeAttributes): Decision {
  if (subresource === "status") return ["update", "patch"].includes(verb) ? allowed : undecided;
  if (subresource !== "") return undecided;
  switch (verb) {
    case "create":
    case "update":
    case "patch":
      return allowed;
    case "get":
    case "list":
    case "watch":
      if (name === node) return allowed;
      return noOpinion(
        `node '${node}' cannot read ${name === "" ? "all nodes" : `'${name}'`}, only its own Node object`,
      );
    default:
      return undecided;
  }
}

/** The rule for Leases of nodes, all of which are in one namespace. */
const leaseRule =
  (leaseNamespace: string): Rule =>
  ({ node, verb, namespace, name }) => {
    if (!["get", "create", "update", "patch", "delete"].includes(verb)) {
      return noOpinion("can only get, create, update, patch, or delete a node lease");
    }
    if (namespace !== leaseNamespace) {
      return noOpinion(`can only access leases in the ${JSON.stringify(leaseNamespace)} system namespace`);
    }
    // The path of a create has no name.
    if (verb === "create" || name === node) return allowed;
    return noOpinion("can only access node lease with the same name as the requesting node");
  };

function ofCsiNode({ node, verb, name, subresource }: NodeAttributes): Decision {
  if (!["get", "create", "update", "patch", "delete"].includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a CSINode");
  }
  if (subresource !== "") return noOpinion("cannot authorize CSINode subresources");
  if (verb === "create" || name === node) return allowed;
  return noOpinion("can only access CSINode with the same name as the requesting node");
}
