import { anonymousUsername, authenticatedGroup, unauthenticatedGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import { presentedCredential, withCredential } from "./presented-credential.ts";

const known = new WeakMap<UserInfo, UserInfo>();

/** The user with `system:authenticated`, unless anonymous or in that group, or its opposite, already. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { username, groups } = user;
  if (username === anonymousUsername || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup)) {
    return user;
  }
  const ready = known.get(user);
  if (ready !== undefined) return ready;
  const member = withCredential({ ...user, groups: [...groups, authenticatedGroup] }, presentedCredential(user));
  known.set(user, member);
  return member;
}
