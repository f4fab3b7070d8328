/** The caller of a request, as an authenticator identified it. Immutable. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUsername = "system:anonymous";
export const unauthenticatedGroup = "system:unauthenticated";
export const authenticatedGroup = "system:authenticated";
/** Members of this group may do everything. No authorizer is consulted. */
export const mastersGroup = "system:masters";
export const nodesGroup = "system:nodes";
export const nodeUsernamePrefix = "system:node:";

/** The NAME, possibly empty, of a username `system:node:NAME`. Undefined for other usernames. */
export const nodeNameOf = (username: string): string | undefined =>
  username.startsWith(nodeUsernamePrefix) ? username.slice(nodeUsernamePrefix.length) : undefined;

/** The name, possibly empty, of a node that is a member of `system:nodes` (upstream: `nodeidentifier`). */
export function memberNodeNameOf({ username, groups }: UserInfo): string | undefined {
  const name = nodeNameOf(username);
  return name !== undefined && groups.includes(nodesGroup) ? name : undefined;
}

export const serviceAccountUsernamePrefix = "system:serviceaccount:";
export const serviceAccountsGroup = "system:serviceaccounts";

export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${serviceAccountUsernamePrefix}${namespace}:${name}`;

/** The account in `system:serviceaccount:NAMESPACE:NAME`. The two names are not checked. Undefined for other usernames. */
export function serviceAccountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(serviceAccountUsernamePrefix)) return undefined;
  const start = serviceAccountUsernamePrefix.length;
  const end = username.indexOf(":", start);
  return end < 0 ? undefined : { namespace: username.slice(start, end), name: username.slice(end + 1) };
}

/** The groups of every service account in a namespace. */
export const serviceAccountGroups = (namespace: string): string[] => [
  serviceAccountsGroup,
  `${serviceAccountsGroup}:${namespace}`,
];
