import { computedOnce } from "../api/computed-once.ts";
import { anonymousUsername, authenticatedGroup, unauthenticatedGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import { presentedCredential, withCredential } from "./presented-credential.ts";

/** The user with the group `system:authenticated`. Unchanged: the anonymous user, and users in this group or its opposite. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { username, groups } = user;
  if (username === anonymousUsername || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup)) {
    return user;
  }
  return asMember(user);
}

const asMember = computedOnce((user: UserInfo) =>
  withCredential({ ...user, groups: [...user.groups, authenticatedGroup] }, presentedCredential(user)),
);
