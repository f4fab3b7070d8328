import type { Names } from "../machinery/api/names.ts";
import { authenticatedGroup } from "../machinery/api/user-info.ts";
import { mustImpersonate } from "../features/access/credentials/impersonation.ts";
import type { ImpersonationOnly } from "../features/access/credentials/impersonation.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import type { ServeOptions } from "./serve-flags.ts";
import { controllersUser, serverUser } from "./loopback-users.ts";

/** The callers whom the settings let act for others only. Throws UsageError when the server itself would be one of them. */
export function impersonationOnlyCallers(options: ServeOptions, names: Names): ImpersonationOnly {
  const callers = { users: options["impersonation-only-users"], groups: options["impersonation-only-groups"] };
  for (const { groups, ...user } of [serverUser, controllersUser(names)]) {
    if (!mustImpersonate(callers, { ...user, groups: [...groups, authenticatedGroup] })) continue;
    throw new UsageError(
      `--impersonation-only-users, --impersonation-only-groups: ${user.username}, which the server itself acts as, would be refused: name no user and group that it has`,
    );
  }
  return callers;
}
