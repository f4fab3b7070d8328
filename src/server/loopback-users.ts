import type { Names } from "../machinery/api/names.ts";
import { authenticatedGroup, mastersGroup } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { mustImpersonate } from "../features/access/credentials/impersonation.ts";
import type { ImpersonationOnly } from "../features/access/credentials/impersonation.ts";
import { controllerManagerUsername } from "../features/access/policy/controller-policy.ts";

/** The user of the server's own client. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Whether it is the server's own client. */
export const isServer = ({ username, groups }: UserInfo): boolean =>
  username === serverUser.username && groups.includes(mastersGroup);

/** The user of the controllers that run in the server's process. */
export const controllersUser = (names: Names): UserInfo => ({
  username: controllerManagerUsername(names),
  groups: [],
  extra: {},
});

/**
 * Whether a user may exceed what a namespace may hold: the controllers, whose few small objects each namespace needs, and
 * administrators, who repair a full one and start the server.
 */
export const isExemptFromQuota =
  (names: Names) =>
  ({ username, groups }: UserInfo): boolean =>
    groups.includes(mastersGroup) || username === controllerManagerUsername(names);

/** The users and groups who may only impersonate must not include the server itself. Throws UsageError. */
export function checkImpersonationOnly(callers: ImpersonationOnly, names: Names): void {
  for (const { groups, ...user } of [serverUser, controllersUser(names)]) {
    if (!mustImpersonate(callers, { ...user, groups: [...groups, authenticatedGroup] })) continue;
    throw new UsageError(
      `--impersonation-only-users, --impersonation-only-groups: the server itself runs as ${user.username} and would be refused: remove this user and its groups from the flags`,
    );
  }
}
