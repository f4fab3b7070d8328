import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { textsOf } from "../../core/index.ts";
import type { Secret } from "../../core/index.ts";

/** The limits in a bootstrap token's Secret for its holder's requests, in addition to upstream's keys. Values in the Secret are base64. */
interface BootstrapBinding {
  /** A node's name, or a pattern with one `*`. Undefined: any name. */
  readonly nodeNames: string | undefined;
  /** Whether only the first requesting key may use the token. */
  readonly isForOneUse: boolean;
  readonly mayReplaceNode: boolean;
  /** The SHA-256 of the public key that has used the token, and the node that the key requested. */
  readonly usedBy: { readonly key: string; readonly node: string } | undefined;
}

/** Keys of the Secret's data. */
export const bindingKeys = {
  nodeNames: "node-names",
  isForOneUse: "one-use",
  mayReplaceNode: "allow-existing-node",
  usedByKey: "used-by-key",
  usedByNode: "used-by-node",
} as const;

export function bootstrapBinding({ data }: Secret): BootstrapBinding {
  const value = textsOf(data);
  const usedByKey = value(bindingKeys.usedByKey) ?? "";
  return {
    nodeNames: value(bindingKeys.nodeNames),
    isForOneUse: value(bindingKeys.isForOneUse) === "true",
    mayReplaceNode: value(bindingKeys.mayReplaceNode) === "true",
    usedBy: usedByKey === "" ? undefined : { key: usedByKey, node: value(bindingKeys.usedByNode) ?? "" },
  };
}

/** Whether a pattern is a node's name, or a name with one `*` for any characters. */
export const isNodePattern = (pattern: string): boolean =>
  pattern.length <= 253 && /^[a-z0-9*](?:[a-z0-9.*-]*[a-z0-9*])?$/.test(pattern) && !/\*.*\*/.test(pattern);

/** Whether a pattern matches a node's name. An invalid pattern matches no node. */
function matchesNodePattern(pattern: string, node: string): boolean {
  if (!isNodePattern(pattern)) return false;
  const [start = "", end] = pattern.split("*");
  if (end === undefined) return node === pattern;
  return node.length >= start.length + end.length && node.startsWith(start) && node.endsWith(end);
}

export interface BootstrapQuestion {
  readonly commonName: string;
  /** The SHA-256 of the public key. */
  readonly key: string;
  /** Whether the signer issues the client certificates of nodes. */
  readonly isJoining: boolean;
  readonly nodeExists: boolean;
}

/** Why a token does not allow a request, or undefined when it does. */
export function bindingFault(
  { nodeNames, isForOneUse, mayReplaceNode, usedBy }: BootstrapBinding,
  { commonName, key, isJoining, nodeExists }: BootstrapQuestion,
): string | undefined {
  const node = nodeNameOf(commonName);
  const isBound = nodeNames !== undefined || isForOneUse;
  if (isBound && (node === undefined || !isJoining)) {
    return "this bootstrap token is only for the client certificate of a node";
  }
  if (node === undefined) return undefined;
  const quoted = goQuoted(node);
  if (nodeNames !== undefined && !matchesNodePattern(nodeNames, node)) {
    return `this bootstrap token is for ${goQuoted(nodeNames)}, not for ${quoted}`;
  }
  if (isForOneUse && usedBy !== undefined && (usedBy.key !== key || usedBy.node !== node)) {
    return "this bootstrap token is for one use, and another key has used it; make a new one";
  }
  if (nodeExists && !mayReplaceNode) {
    return (
      `there is a Node ${quoted} already: delete it if its machine is gone, or make a token with ` +
      "signet bootstrap-token create --allow-existing-node"
    );
  }
  return undefined;
}
