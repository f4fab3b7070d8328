import type { Names } from "../machinery/api/names.ts";
import { authenticatedGroup, mastersGroup } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { mustImpersonate } from "../features/access/credentials/impersonation.ts";
import type { ImpersonationOnly } from "../features/access/credentials/impersonation.ts";
import { controllerManagerUsername } from "../features/access/policy/controller-policy.ts";

/** Who the server's own client is. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Who the controllers are that run in the server's process. */
export const controllersUser = (names: Names): UserInfo => ({
  username: controllerManagerUsername(names),
  groups: [],
  extra: {},
});

/** Callers whom the settings let act for others only must not include the server itself. Throws UsageError. */
export function checkImpersonationOnly(callers: ImpersonationOnly, names: Names): void {
  for (const { groups, ...user } of [serverUser, controllersUser(names)]) {
    if (!mustImpersonate(callers, { ...user, groups: [...groups, authenticatedGroup] })) continue;
    throw new UsageError(
      `--impersonation-only-users, --impersonation-only-groups: ${user.username}, which the server itself acts as, would be refused: name no user and group that it has`,
    );
  }
}
