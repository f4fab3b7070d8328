import type { Names } from "../machinery/api/names.ts";
import { authenticatedGroup, mastersGroup } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { mustImpersonate } from "../features/access/credentials/impersonation.ts";
import type { ImpersonationOnly } from "../features/access/credentials/impersonation.ts";
import { controllerManagerUsername } from "../features/access/policy/controller-policy.ts";

/** The user of the server's own client. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Whether the user is the server's own client. */
export const isServer = ({ username, groups }: UserInfo): boolean =>
  username === serverUser.username && groups.includes(mastersGroup);

/** The user of the controllers that run in the server's process. */
export const controllersUser = (names: Names): UserInfo => ({
  username: controllerManagerUsername(names),
  groups: [],
  extra: {},
});

/**
 * Whether a user may exceed the quota of a namespace. The controllers may, because each namespace needs their few small objects.
 * Administrators may, because they repair a full namespace and start the server.
 */
export const isExemptFromQuota =
  (names: Names) =>
  ({ username, groups }: UserInfo): boolean =>
    groups.includes(mastersGroup) || username === controllerManagerUsername(names);

/** Throws UsageError when the users and groups who may only impersonate include the server itself. */
export function checkImpersonationOnly(callers: ImpersonationOnly, names: Names): void {
  for (const { groups, ...user } of [serverUser, controllersUser(names)]) {
    if (!mustImpersonate(callers, { ...user, groups: [...groups, authenticatedGroup] })) continue;
    throw new UsageError(
      `--impersonation-only-users, --impersonation-only-groups: the server itself runs as ${user.username} and would be refused: remove this user and its groups from the flags`,
    );
  }
}
