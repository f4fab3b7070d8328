import { addressKey } from "../api/addresses/address-key.ts";
import { computedOnce } from "../api/computed-once.ts";
import { kubernetesNames, platformNames } from "../api/names.ts";
import {
  anonymousUsername,
  mastersGroup,
  memberNodeNameOf,
  serviceAccountOf,
  serviceAccountsGroup,
} from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";

/** The levels of users, each of which has places of its own (upstream: the priority levels of API Priority and Fairness). */
export const shareLevels = ["system", "nodes", "workloads", "others"] as const;

export type ShareLevel = (typeof shareLevels)[number];

/**
 * Whose share a request counts against: a level, in it a user or the service accounts of one namespace, and then one of these. No two
 * levels, namespaces or users have the same name.
 */
export type SharePath = readonly [level: ShareLevel, sharer: string, ...names: string[]];

const systemNamespaces = new Set([platformNames.namespaces.system, kubernetesNames.namespaces.system]);

/** Whose share counts when only the username is known: that of all service accounts of a namespace (their group), or the user's own. */
export function sharerOf(username: string): string {
  const namespace = serviceAccountOf(username)?.namespace;
  return namespace === undefined ? username : `${serviceAccountsGroup}:${namespace}`;
}

/**
 * The path of a user. A user who can create service accounts in a namespace can act as many users, so these service accounts have one share
 * together, which they divide among themselves. Computed once for each object: credentials return the same one while they cache a user.
 */
export const sharePath = computedOnce((user: UserInfo): SharePath => {
  const { username, groups } = user;
  if (groups.includes(mastersGroup)) return ["system", `masters/${username}`];
  const namespace = serviceAccountOf(username)?.namespace;
  if (namespace !== undefined) {
    const level = systemNamespaces.has(namespace) ? "system" : "workloads";
    return [level, `${level}/${namespace}`, `${level}/${namespace}/${username}`];
  }
  const level = memberNodeNameOf(user) !== undefined ? "nodes" : isSystemName(username) ? "system" : "others";
  return [level, `${level}/${username}`];
});

/** The sharer for requests and bytes from an address while their user is not known. */
export const addressPath = (address: string): SharePath => ["others", `address/${addressKey(address)}`];

/** `system:kube-controller-manager`, but not `system:bootstrap:ID`. */
const isSystemName = (username: string): boolean =>
  username.startsWith("system:") && !username.includes(":", "system:".length) && username !== anonymousUsername;
