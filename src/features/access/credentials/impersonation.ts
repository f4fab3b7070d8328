import { badRequest, forbidden } from "../../../machinery/api/api-error.ts";
import type { Authorize } from "../../../machinery/api/attributes.ts";
import { goQuoted, shortened } from "../../../machinery/api/text/format-value.ts";
import type { Headers } from "../../../machinery/api/http-message.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { RequestActor, RequestSender } from "../../../machinery/api/request-actor.ts";
import { extraOf, firstHeaderValue, headerValues } from "../../../machinery/authentication/header-values.ts";
import type { IdentityHeaders } from "../../../machinery/authentication/identity-headers.ts";
import { ImpersonationModes } from "./impersonation-modes.ts";
import type { RequestedUser } from "./impersonation-modes.ts";

/**
 * Returns the user that a request acts as: the sender, or the user of its Impersonate-* headers. Throws a 400 ApiError
 * for a group, uid or extra without a user, and a 403 for the first part that the sender may not impersonate.
 */
export type Impersonate = (headers: Headers, sender: RequestSender) => MaybePromise<RequestActor>;

const extraPrefix = "impersonate-extra-";

export const impersonationHeaders: IdentityHeaders = {
  names: ["impersonate-user", "impersonate-group", "impersonate-uid"],
  prefixes: [extraPrefix],
};

/** Senders who may only impersonate, by user name or by group. They have no access as themselves. */
export interface ImpersonationOnly {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

export const mustImpersonate = ({ users, groups }: ImpersonationOnly, sender: UserInfo): boolean =>
  users.includes(sender.username) || groups.some((group) => sender.groups.includes(group));

interface ImpersonationOptions {
  readonly names: Names;
  readonly authorize: Authorize;
  readonly impersonationOnly: ImpersonationOnly;
}

/**
 * Reads the headers; `ImpersonationModes` decides. Senders who may only impersonate get a 403 when they name no user: another proxy
 * may have dropped the header.
 */
export function createImpersonation({ names, authorize, impersonationOnly }: ImpersonationOptions): Impersonate {
  const modes = new ImpersonationModes({ names, authorize });
  return (headers, sender) => {
    if (hasImpersonationHeader(headers)) {
      const requested = requestedUser(headers);
      if (requested.username === "")
        throw badRequest(`requested ${shownUser(requested)} without impersonating a user name`);
      return modes.impersonate(requested, sender);
    }
    if (mustImpersonate(impersonationOnly, sender.user)) throw missingImpersonation(sender.user);
    return sender;
  };
}

const missingImpersonation = ({ username }: UserInfo): Error =>
  forbidden(
    { group: "", resource: "" },
    { message: `User ${goQuoted(username)} may only impersonate other users: send the header Impersonate-User` },
  );

function hasImpersonationHeader(headers: Headers): boolean {
  for (const name in headers) {
    if (name.startsWith("impersonate-")) return true;
  }
  return false;
}

/** Of repeated user or uid headers, the first counts. */
const requestedUser = (headers: Headers): RequestedUser => ({
  username: firstHeaderValue(headers, "impersonate-user"),
  uid: firstHeaderValue(headers, "impersonate-uid"),
  groups: headerValues(headers, "impersonate-group"),
  extra: extraOf(headers, extraPrefix),
});

/** The user as Go prints it (`%#v`) in upstream's refusal. */
function shownUser({ uid, groups, extra }: RequestedUser): string {
  const list = (texts: readonly string[]): string => `[]string{${texts.map(goQuoted).join(", ")}}`;
  const members = [...extra].sort(([left], [right]) => (left < right ? -1 : 1));
  const shownGroups = groups.length === 0 ? "[]string(nil)" : list(groups);
  const shownExtra = members.map(([key, values]) => `${goQuoted(key)}:${list(values)}`).join(", ");
  const extraType = "map[string][]string";
  return shortened(
    `&user.DefaultInfo{Name:"", UID:${goQuoted(uid)}, Groups:${shownGroups}, ` +
      `Extra:${extra.size === 0 ? `${extraType}(nil)` : `${extraType}{${shownExtra}}`}}`,
  );
}
