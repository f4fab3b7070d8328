/** Who asks: what an authenticator found out about the caller. Never changed once made. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUsername = "system:anonymous";
export const unauthenticatedGroup = "system:unauthenticated";
export const authenticatedGroup = "system:authenticated";
/** Members may do everything; no authorizer is asked. */
export const mastersGroup = "system:masters";
export const nodesGroup = "system:nodes";
export const nodeUsernamePrefix = "system:node:";
export const serviceAccountUsernamePrefix = "system:serviceaccount:";
export const serviceAccountsGroup = "system:serviceaccounts";

export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${serviceAccountUsernamePrefix}${namespace}:${name}`;

/** The groups that every service account of a namespace is in. */
export const serviceAccountGroups = (namespace: string): string[] => [
  serviceAccountsGroup,
  `${serviceAccountsGroup}:${namespace}`,
];
