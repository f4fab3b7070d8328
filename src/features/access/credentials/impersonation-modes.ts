import { accessDenied } from "../../../machinery/api/access-denied.ts";
import { ApiError } from "../../../machinery/api/api-error.ts";
import type { AuthorizationAttributes, Authorize, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import { invalidValue } from "../../../machinery/api/validation/field-error.ts";
import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import { dnsLabelFaults, dnsSubdomainFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { RecentlyUsed } from "../../../machinery/api/recently-used.ts";
import {
  anonymousUsername,
  mastersGroup,
  nodeNameOf,
  nodesGroup,
  serviceAccountGroups,
  serviceAccountOf,
  unauthenticatedGroup,
} from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import type { RequestActor, RequestSender } from "../../../machinery/api/request-actor.ts";
import { withAuthenticatedGroup } from "../../../machinery/authentication/authenticated-group.ts";

/** The user that the headers of a request name. */
export interface RequestedUser {
  readonly username: string;
  /** Empty: none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** The modes in which a sender may act as other users only for requests that a role names (upstream: KEP 5284). */
export const constrainedModes = ["associated-node", "arbitrary-node", "serviceaccount", "user-info"] as const;
type ConstrainedMode = (typeof constrainedModes)[number];
/** In the mode `legacy`, the verb `impersonate` allows every request as the user. */
type Mode = ConstrainedMode | "legacy";

/** The most remembered senders. Few installations have more users who impersonate, and a forgotten sender costs a few more checks. */
const maximumRememberedSenders = 1_000;

/** The facts from which the required permissions follow. */
interface Permission {
  readonly mode: Mode;
  readonly requested: RequestedUser;
  readonly sender: RequestSender;
}

/**
 * Decides who may act as whom (upstream: `WithConstrainedImpersonation`). Each part of the requested user requires a permission of its own.
 * With the verb `impersonate`, no more is needed. With `impersonate:MODE`, the request also requires a permission with the verb
 * `impersonate-on:MODE:VERB`. The mode follows from the requested user.
 */
export class ImpersonationModes {
  readonly #names: Names;
  readonly #authorize: Authorize;
  /** The mode in which a sender was last successful is tried first. */
  readonly #lastModes = new RecentlyUsed<Mode>({ maximumEntries: maximumRememberedSenders });

  constructor({ names, authorize }: { readonly names: Names; readonly authorize: Authorize }) {
    this.#names = names;
    this.#authorize = authorize;
  }

  /** Rejects with the 403 of the first mode when no mode allows the request. */
  async impersonate(requested: RequestedUser, sender: RequestSender): Promise<RequestActor> {
    const last = this.#lastModes.get(sender.user.username);
    let refusal: ApiError | undefined;
    for (const mode of new Set<Mode>([...(last === undefined ? [] : [last]), ...constrainedModes, "legacy"])) {
      if (!this.#appliesTo({ mode, requested, sender })) continue;
      try {
        await this.#check({ mode, requested, sender });
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 403)) throw error;
        refusal ??= error;
        continue;
      }
      this.#lastModes.set(sender.user.username, mode);
      return actingUser(mode, requested);
    }
    throw refusal ?? accessDenied(sender.attributes(), "no mode of impersonation applies");
  }

  /** Nodes and service accounts have modes of their own, in which the server itself sets the groups of the user. */
  #appliesTo({ mode, requested, sender: { user } }: Permission): boolean {
    const { username, uid, groups, extra } = requested;
    const node = nodeOf(username);
    const account = validAccountOf(username);
    const isOnlyNamed = uid === "" && groups.length === 0 && extra.size === 0;
    switch (mode) {
      case "associated-node": {
        const ofSender = user.extra[this.#names.subdomainKey("authentication", "node-name")] ?? [];
        const isOfSender = ofSender.length === 1 && ofSender[0] === node;
        return isOnlyNamed && isOfSender && validAccountOf(user.username) !== undefined;
      }
      case "arbitrary-node":
        return isOnlyNamed && node !== undefined;
      case "serviceaccount":
        return isOnlyNamed && account !== undefined;
      case "user-info":
        return node === undefined && account === undefined;
      case "legacy":
        return true;
    }
  }

  async #check(permission: Permission): Promise<void> {
    for (const attributes of this.#permissions(permission)) {
      const { decision, reason } = await this.#authorize(attributes);
      if (decision !== "allow") throw accessDenied(attributes, reason);
    }
  }

  *#permissions(permission: Permission): Generator<AuthorizationAttributes> {
    const { mode, requested } = permission;
    const isConstrained = mode !== "legacy";
    const user = this.#askedUser(permission);
    if (isConstrained) {
      const attributes = permission.sender.attributes();
      yield { ...attributes, user, verb: `impersonate-on:${mode}:${attributes.verb}` };
    }
    const authentication = this.#names.group("authentication");
    const part = (what: Partial<ResourceAttributes>): ResourceAttributes => ({
      kind: "resource",
      user,
      verb: isConstrained ? constraintOf(mode) : "impersonate",
      group: isConstrained ? authentication : "",
      version: "v1",
      resource: "users",
      subresource: "",
      namespace: "",
      name: "",
      ...what,
    });
    yield part(subjectOf(permission));
    if (requested.uid !== "") yield part({ group: authentication, resource: "uids", name: requested.uid });
    const { groups, extra } = requested;
    if (isConstrained) {
      if (groups.includes("")) {
        throw accessDenied(part({ resource: "groups" }), "impersonating the empty string group is not allowed");
      }
      if (groups.includes(mastersGroup)) {
        const attributes = part({ resource: "groups", name: mastersGroup });
        throw accessDenied(attributes, `impersonating the ${mastersGroup} group is not allowed`);
      }
    }
    for (const name of groups) yield part({ resource: "groups", name });
    const fault = isConstrained ? extraFault(extra) : undefined;
    if (fault !== undefined) throw accessDenied(part({ resource: "userextras" }), fault);
    for (const [subresource, values] of extra) {
      for (const name of values) yield part({ group: authentication, resource: "userextras", subresource, name });
    }
  }

  /**
   * For `associated-node`, leaves out which Pod or node the sender's token is bound to: all Pods of an account share the right to act as
   * their own node.
   */
  #askedUser({ mode, sender: { user } }: Permission): UserInfo {
    if (mode !== "associated-node") return user;
    const key = this.#names.subdomainKey("authentication", "associated-node-keys");
    return { ...user, extra: { [key]: Object.keys(user.extra).toSorted() } };
  }
}

const constraintOf = (mode: ConstrainedMode): string => `impersonate:${mode}`;

/** The resource that rules name for the requested user: a service account, a node or a user. */
function subjectOf({ mode, requested: { username } }: Permission): Partial<ResourceAttributes> {
  const account = validAccountOf(username);
  if (account !== undefined) return { resource: "serviceaccounts", ...account };
  const node = nodeOf(username);
  if (mode === "legacy" || node === undefined) return { name: username };
  return { resource: "nodes", name: mode === "associated-node" ? "*" : node };
}

function actingUser(mode: Mode, { username, uid, groups, extra }: RequestedUser): RequestActor {
  const account = groups.length > 0 ? undefined : validAccountOf(username);
  const isNode = mode === "associated-node" || mode === "arbitrary-node";
  const user = withStandardGroups({
    username,
    ...(uid !== "" && { uid }),
    groups: isNode ? [nodesGroup] : account === undefined ? groups : serviceAccountGroups(account.namespace),
    extra: Object.fromEntries(extra),
  });
  return mode === "legacy" ? { user } : { user, constraint: constraintOf(mode) };
}

/** The node of a node's user name. A name that is not valid for a node is an ordinary user. */
function nodeOf(username: string): string | undefined {
  const name = nodeNameOf(username);
  return name !== undefined && dnsSubdomainFaults(name).length === 0 ? name : undefined;
}

/** The account of a service account's user name. A name that is not valid for an account is an ordinary user. */
function validAccountOf(username: string): ReturnType<typeof serviceAccountOf> {
  const account = serviceAccountOf(username);
  if (account === undefined || dnsLabelFaults(account.namespace).length > 0) return undefined;
  return dnsSubdomainFaults(account.name).length === 0 ? account : undefined;
}

/** Why constrained impersonation refuses extra values (upstream: `validateExtra`). */
function extraFault(extra: RequestedUser["extra"]): string | undefined {
  for (const [key, values] of extra) {
    if (key === "") return "impersonating the empty string key in extra is not allowed";
    const [, domain = ""] = /^([^/]+)\/[\w/.~%!$&'()*+,;=:-]+$/.exec(key) ?? [];
    if (dnsSubdomainFaults(domain).length > 0) {
      const { message } = invalidValue("", {
        value: key,
        detail: 'must be a domain-prefixed path (such as "acme.io/foo")',
      });
      return `impersonating an invalid key in extra is not allowed: extra.key: ${message}`;
    }
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${goQuoted(key)}`;
    if (values.includes("")) return "impersonating the empty string value in extra is not allowed";
  }
  return undefined;
}

function withStandardGroups(user: UserInfo): UserInfo {
  if (user.username !== anonymousUsername) return withAuthenticatedGroup(user);
  if (user.groups.includes(unauthenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, unauthenticatedGroup] };
}
