import type { Names } from "../api/names.ts";
import { mastersGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import { controllerManagerUsername } from "../authorization/index.ts";

/** Who the server's own client is. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Who the controllers are that run in the server's process. */
export const controllersUser = (names: Names): UserInfo => ({
  username: controllerManagerUsername(names),
  groups: [],
  extra: {},
});
