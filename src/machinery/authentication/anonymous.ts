import { anonymousUsername, unauthenticatedGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";

/** Who asks without any credential. */
export const anonymousUser: UserInfo = { username: anonymousUsername, groups: [unauthenticatedGroup], extra: {} };
