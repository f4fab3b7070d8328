import { spellingsOf } from "../api/names.ts";
import type { Names } from "../api/names.ts";
import type { UserInfo } from "../api/user-info.ts";
import { atomicList, mapOf, string } from "./schema.ts";
import type { ArraySchema, Infer } from "./schema.ts";
import { omitEmpty, struct } from "./struct.ts";

const extraValue: ArraySchema<string[]> = { ...atomicList(string), goType: "v1.ExtraValue" };

/** The extra attributes of a user: lists of texts by their keys. */
export const userExtra = mapOf(extraValue);

/** A user, as reviews return it. */
export const userInfoSchema = struct("v1.UserInfo", "The user that a credential belongs to.", {
  username: omitEmpty(1, string, "The name that identifies the user among all active users."),
  uid: omitEmpty(2, string, "A value that is unique over time: a later user with the same name gets a different one."),
  groups: omitEmpty(3, atomicList(string), "The names of the user's groups."),
  extra: omitEmpty(4, userExtra, "Additional information from the authenticator."),
});

/** Converts a user for a JSON answer, with the keys of its extra in one spelling. Empty parts are left out. */
export const shownUser = ({ username, uid, groups, extra }: UserInfo, names: Names): Infer<typeof userInfoSchema> => ({
  ...(Object.keys(extra).length > 0 && { extra: shownExtra(extra, names) }),
  ...(groups.length > 0 && { groups: [...groups] }),
  ...(uid !== undefined && uid !== "" && { uid }),
  ...(username !== "" && { username }),
});

/** Keys that become equal share their values. */
function shownExtra(extra: UserInfo["extra"], names: Names): Record<string, string[]> {
  const shown = new Map<string, string[]>();
  for (const [key, values] of Object.entries(extra)) {
    const own = names.ownKey(key);
    shown.set(own, [...(shown.get(own) ?? []), ...values]);
  }
  return Object.fromEntries(shown);
}

/** A user's extra with each key in every spelling that the server understands, because readers may look for any of them. */
export const extraInEachSpelling = (extra: UserInfo["extra"], names: Names): UserInfo["extra"] =>
  Object.fromEntries(spellingsOf(names, (one) => Object.entries(shownExtra(extra, one))).flat());
