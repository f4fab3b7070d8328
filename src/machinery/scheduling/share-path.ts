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

/** For whom a request counts: a level, in it the service accounts of one namespace, and last a user. No two have the same name. */
export type SharePath = readonly [level: ShareLevel, sharer: string, ...names: string[]];

const systemNamespaces = new Set([platformNames.namespaces.system, kubernetesNames.namespaces.system]);

/** For whom something counts of which only the username is known: the group of all service accounts of a namespace, or the user. */
export function sharerOf(username: string): string {
  const namespace = serviceAccountOf(username)?.namespace;
  return namespace === undefined ? username : `${serviceAccountsGroup}:${namespace}`;
}

/**
 * Whoever can make service accounts in a namespace can be many users: so they share as one, and then among themselves. Credentials
 * answer with the same object again while they remember a user.
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

/** The same for what comes from an address, when it is not known yet whose it is. */
export const addressPath = (address: string): SharePath => ["others", `address/${address}`];

/** `system:kube-controller-manager`, but not `system:bootstrap:ID`. */
const isSystemName = (username: string): boolean =>
  username.startsWith("system:") && !username.includes(":", "system:".length) && username !== anonymousUsername;
