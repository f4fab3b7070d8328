import type { Names } from "../machinery/api/names.ts";
import { authenticatedGroup } from "../machinery/api/user-info.ts";
import { mustImpersonate } from "../features/access/credentials/impersonation.ts";
import type { ImpersonationOnly } from "../features/access/credentials/impersonation.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { controllersUser, serverUser } from "./loopback-users.ts";

/** Callers whom the settings let act for others only must not include the server itself. Throws UsageError. */
export function checkImpersonationOnly(callers: ImpersonationOnly, names: Names): void {
  for (const { groups, ...user } of [serverUser, controllersUser(names)]) {
    if (!mustImpersonate(callers, { ...user, groups: [...groups, authenticatedGroup] })) continue;
    throw new UsageError(
      `--impersonation-only-users, --impersonation-only-groups: ${user.username}, which the server itself acts as, would be refused: name no user and group that it has`,
    );
  }
}
