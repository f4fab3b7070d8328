import type { Names } from "../machinery/api/names.ts";
import { mastersGroup } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import { controllerManagerUsername } from "../features/access/policy/controller-policy.ts";

/** Who the server's own client is. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Who the controllers are that run in the server's process. */
export const controllersUser = (names: Names): UserInfo => ({
  username: controllerManagerUsername(names),
  groups: [],
  extra: {},
});
