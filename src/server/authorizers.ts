import type { ConnectedAuthorization } from "../features/authorization/feature.ts";
import { memberNodeNameOf } from "../machinery/api/user-info.ts";
import type { UserInfo } from "../machinery/api/user-info.ts";
import { connectNodeAuthorizer } from "../features/nodes/feature.ts";
import { everyPermission } from "../features/access/rbac/policy-rule.ts";
import type { ResolvedRules, RuleResolver } from "../features/access/rbac/rule-resolver.ts";
import { andThen } from "../machinery/api/maybe-promise.ts";
import { alwaysAllow, alwaysDeny, publicFolder, publicPaths } from "../machinery/authorization/authorizer.ts";
import type { Authorizer } from "../machinery/authorization/authorizer.ts";
import type { Names } from "../machinery/api/names.ts";
import type { Stores } from "../machinery/registry/stores.ts";

interface AuthorizersOptions {
  readonly names: Names;
  readonly stores: Stores;
  readonly rbac: Authorizer;
  /** Knows the rules that RBAC grants to a user. */
  readonly resolver: RuleResolver;
  /** The authorizers that are configured now, in order. */
  readonly configured: ConnectedAuthorization["authorizers"];
  /** Whether the issuer's discovery documents need no authentication. */
  readonly isDiscoveryPublic: boolean;
  /** The path prefix below which everything is public. Undefined: there is none. */
  readonly publicBelow: string | undefined;
}

/** How often an authorizer has made a decision. */
export interface DecisionCount {
  readonly type: string;
  readonly name: string;
  allowed: number;
  denied: number;
}

export interface Authorizers {
  /** The authorizers in the order of evaluation. Returns the same list until the configuration changes. */
  current(): readonly Authorizer[];
  /** Whether one of the authorizers allows everything to everyone. */
  allowEverything(): boolean;
  /** The user's rules, combined from all authorizers. */
  rulesFor(user: UserInfo, namespace: string): Promise<ResolvedRules>;
  counts(): Iterable<DecisionCount>;
}

/** Opens the authorizers, in the order of evaluation. The order is a security decision: public paths first, then the operator's order. */
export function openAuthorizers({
  names,
  stores,
  rbac,
  resolver,
  configured,
  isDiscoveryPublic,
  publicBelow,
}: AuthorizersOptions): Authorizers {
  let node: Authorizer | undefined;
  const known: Readonly<Record<string, () => Authorizer>> = {
    Node: () => (node ??= connectNodeAuthorizer(names, stores)),
    RBAC: () => rbac,
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
  };
  const counts = new Map<string, DecisionCount>();
  const chainOf = (list: ReturnType<typeof configured>): readonly Authorizer[] => {
    const chosen = list.map((one) => {
      const authorize = one.type === "Webhook" ? one.authorize : known[one.type]?.();
      if (authorize === undefined) throw new TypeError(`no authorizer is called ${one.type}`);
      const key = `${one.type} ${one.name}`;
      const count = counts.get(key) ?? { type: one.type, name: one.name, allowed: 0, denied: 0 };
      counts.set(key, count);
      return counted(authorize, count);
    });
    return [
      ...(isDiscoveryPublic ? [publicPaths(issuerPaths)] : []),
      ...(publicBelow === undefined ? [] : [publicFolder(publicBelow)]),
      ...chosen,
    ];
  };
  let seen = configured();
  let chain = chainOf(seen);
  return {
    current() {
      const now = configured();
      if (now !== seen) {
        chain = chainOf(now);
        seen = now;
      }
      return chain;
    },
    allowEverything: () => configured().some(({ type }) => type === "AlwaysAllow"),
    rulesFor: async (user, namespace) =>
      joinedRules(
        await Promise.all(
          configured().map(async ({ type }) => {
            if (type === "RBAC") return resolver.rulesFor(user, namespace);
            if (type === "AlwaysAllow") return { ...noRules, rules: everyPermission };
            if (type === "Webhook") return unlistedRules("webhook");
            return type === "Node" && memberNodeNameOf(user) !== undefined ? unlistedRules("node") : noRules;
          }),
        ),
      ),
    counts: () => counts.values(),
  };
}

const issuerPaths = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

const noRules: ResolvedRules = { rules: [], isIncomplete: false, errors: [] };

/** Upstream's answer for an authorizer that decides on requests but cannot list rules. */
const unlistedRules = (authorizer: string): ResolvedRules => ({
  rules: [],
  isIncomplete: true,
  errors: [`${authorizer} authorizer does not support user rule resolution`],
});

/** Upstream: `unionAuthzRulesHandler`. */
const joinedRules = (parts: readonly ResolvedRules[]): ResolvedRules => ({
  rules: parts.flatMap(({ rules }) => rules),
  isIncomplete: parts.some(({ isIncomplete }) => isIncomplete),
  errors: parts.flatMap(({ errors }) => errors),
});

const counted =
  (authorize: Authorizer, count: DecisionCount): Authorizer =>
  (attributes) =>
    andThen(authorize(attributes), (decision) => {
      if (decision.decision === "allow") count.allowed += 1;
      else if (decision.decision === "deny") count.denied += 1;
      return decision;
    });
