import { badRequest, forbidden } from "../../../machinery/api/api-error.ts";
import type { Authorize, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import type { Headers } from "../../../machinery/api/http-message.ts";
import { dnsLabelFaults, dnsSubdomainFaults } from "../../../machinery/api/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import {
  anonymousUsername,
  serviceAccountGroups,
  serviceAccountUsernamePrefix,
  unauthenticatedGroup,
} from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { withAuthenticatedGroup } from "../../../machinery/authentication/authenticated-group.ts";
import type { IdentityHeaders } from "../../../machinery/authentication/identity-headers.ts";
import { extraOf, firstHeaderValue, headerValues } from "../../../machinery/authentication/header-values.ts";
import { accessDenied } from "../../../machinery/api/access-denied.ts";
import { goQuoted, shortened } from "../../../machinery/api/format-value.ts";

/**
 * Returns the user that a request acts as: the caller, or the user of its Impersonate-* headers. Throws a 400 ApiError
 * for a group, uid or extra without a user, and a 403 for the first part that the caller may not impersonate.
 */
export type Impersonate = (headers: Headers, caller: UserInfo) => UserInfo | Promise<UserInfo>;

const extraPrefix = "impersonate-extra-";

export const impersonationHeaders: IdentityHeaders = {
  names: ["impersonate-user", "impersonate-group", "impersonate-uid"],
  prefixes: [extraPrefix],
};

/** Callers who may only impersonate, by user name or by group. They have no access as themselves. */
export interface ImpersonationOnly {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

export const mustImpersonate = ({ users, groups }: ImpersonationOnly, caller: UserInfo): boolean =>
  users.includes(caller.username) || groups.some((group) => caller.groups.includes(group));

interface ImpersonationOptions {
  readonly names: Names;
  readonly authorize: Authorize;
  readonly impersonationOnly: ImpersonationOnly;
}

/**
 * Upstream: `filters.WithImpersonation`. Each part requires its own permission with the verb `impersonate`. Callers who
 * may only impersonate get a 403 when they name no user: another proxy may have dropped the header.
 */
export function createImpersonation({ names, authorize, impersonationOnly }: ImpersonationOptions): Impersonate {
  const authenticationGroup = names.group("authentication");
  return (headers, caller) => {
    if (hasImpersonationHeader(headers)) {
      return impersonate(requestedUser(headers), { caller, authorize, authenticationGroup });
    }
    if (mustImpersonate(impersonationOnly, caller)) throw missingImpersonation(caller);
    return caller;
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

interface RequestedUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** For a repeated user or uid, the first one counts. */
const requestedUser = (headers: Headers): RequestedUser => ({
  username: firstHeaderValue(headers, "impersonate-user"),
  uid: firstHeaderValue(headers, "impersonate-uid"),
  groups: headerValues(headers, "impersonate-group"),
  extra: extraOf(headers, extraPrefix),
});

interface Permissions {
  readonly caller: UserInfo;
  readonly authorize: Authorize;
  readonly authenticationGroup: string;
}

async function impersonate(requested: RequestedUser, permissions: Permissions): Promise<UserInfo> {
  const { username, uid, groups, extra } = requested;
  if (username === "") throw badRequest(`requested ${shownUser(requested)} without impersonating a user name`);
  for (const attributes of permissionsFor(requested, permissions)) {
    const { decision, reason } = await permissions.authorize(attributes);
    if (decision !== "allow") throw accessDenied(attributes, reason);
  }
  const account = serviceAccountOf(username);
  const ownGroups = groups.length > 0 || account === undefined ? groups : serviceAccountGroups(account.namespace);
  return withStandardGroups({
    username,
    ...(uid !== "" && { uid }),
    groups: ownGroups,
    extra: Object.fromEntries(extra),
  });
}

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

function* permissionsFor(requested: RequestedUser, permissions: Permissions): Generator<ResourceAttributes> {
  const { caller, authenticationGroup } = permissions;
  const permission = (what: Partial<ResourceAttributes>): ResourceAttributes => ({
    kind: "resource",
    user: caller,
    verb: "impersonate",
    group: "",
    version: "v1",
    resource: "users",
    subresource: "",
    namespace: "",
    name: "",
    ...what,
  });
  const account = serviceAccountOf(requested.username);
  yield account === undefined
    ? permission({ name: requested.username })
    : permission({ resource: "serviceaccounts", ...account });
  for (const name of requested.groups) yield permission({ resource: "groups", name });
  for (const [subresource, values] of requested.extra) {
    for (const name of values) {
      yield permission({ group: authenticationGroup, resource: "userextras", subresource, name });
    }
  }
  if (requested.uid !== "") yield permission({ group: authenticationGroup, resource: "uids", name: requested.uid });
}

/**
 * Returns the account of a service account's user name. A name that is not valid for an account is an ordinary user.
 */
function serviceAccountOf(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(serviceAccountUsernamePrefix)) return undefined;
  const [namespace = "", name = "", ...rest] = username.slice(serviceAccountUsernamePrefix.length).split(":");
  const isAccount =
    rest.length === 0 && dnsLabelFaults(namespace).length === 0 && dnsSubdomainFaults(name).length === 0;
  return isAccount ? { namespace, name } : undefined;
}

function withStandardGroups(user: UserInfo): UserInfo {
  if (user.username !== anonymousUsername) return withAuthenticatedGroup(user);
  if (user.groups.includes(unauthenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, unauthenticatedGroup] };
}
