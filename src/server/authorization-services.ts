import type { Authorize } from "../machinery/api/attributes.ts";
import type { Names } from "../machinery/api/names.ts";
import { bootstrapPolicy } from "../features/access/policy/bootstrap-policy.ts";
import { alwaysAllow } from "../machinery/authorization/always-allow.ts";
import { createAuthorization } from "../machinery/authorization/authorization.ts";
import { rbac } from "../features/access/rbac/rbac-authorizer.ts";
import { RuleResolver } from "../features/access/rbac/rule-resolver.ts";
import type { Authorizer } from "../machinery/authorization/authorizer.ts";
import { publicPaths } from "../machinery/authorization/public-paths.ts";
import { nodeAuthorizer } from "../features/nodes/node-authorizer.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import type { ServeOptions } from "./serve-flags.ts";
import type { FindRegistry } from "../features/accounts/look-ups.ts";
import { nodeObjects } from "../features/nodes/node-objects.ts";
import { rbacObjects } from "../features/access/rbac/followed-rbac-objects.ts";

export interface AuthorizationServices {
  readonly authorize: Authorize;
  readonly resolver: RuleResolver;
}

/** The authorizers in the order of `--authorization-mode`. Call after the registries have started. */
export function openAuthorization(
  options: ServeOptions,
  { names, registry }: { readonly names: Names; readonly registry: FindRegistry },
): AuthorizationServices {
  const resolver = new RuleResolver(names, rbacObjects(registry));
  const modes: Readonly<Record<string, () => Authorizer>> = {
    Node: () => nodeAuthorizer({ names, objects: nodeObjects(names, registry), rules: systemNodeRules(names) }),
    RBAC: () => rbac(resolver),
    AlwaysAllow: () => alwaysAllow,
  };
  const chosen = options["authorization-mode"].map((mode) => {
    const make = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
    if (make === undefined) {
      throw new UsageError(
        `--authorization-mode: ${JSON.stringify(mode)} is not one of ${Object.keys(modes).join(", ")}`,
      );
    }
    return make();
  });
  const isDiscoveryPublic = options["service-account-public-discovery"];
  const authorizers = isDiscoveryPublic ? [publicPaths(discoveryPaths), ...chosen] : chosen;
  return { authorize: createAuthorization(authorizers), resolver };
}

/** What relying parties read of the token issuer. */
const discoveryPaths = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

const systemNodeRules = (names: Names) =>
  bootstrapPolicy(names).clusterRoles.find(({ metadata }) => metadata.name === "system:node")?.rules ?? [];
