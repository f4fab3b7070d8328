import type { AuthorizationMode } from "../features/access/settings.ts";
import { connectNodeAuthorizer } from "../features/nodes/feature.ts";
import { alwaysAllow, publicPaths } from "../machinery/authorization/authorizer.ts";
import type { Authorizer, AuthorizerInMemory } from "../machinery/authorization/authorizer.ts";
import type { Names } from "../machinery/api/names.ts";
import type { Stores } from "../machinery/registry/stores.ts";

export interface AuthorizersOptions {
  readonly names: Names;
  readonly stores: Stores;
  readonly rbac: AuthorizerInMemory;
  /** The values of `--authorization-mode`, in order. */
  readonly modes: readonly AuthorizationMode[];
  /** Whether the issuer's discovery documents need no authentication. */
  readonly isDiscoveryPublic: boolean;
}

/** The authorizers in the order of evaluation. The order is a security decision. */
export function authorizersOf({ names, stores, rbac, modes, isDiscoveryPublic }: AuthorizersOptions): Authorizer[] {
  const known: Readonly<Record<AuthorizationMode, () => Authorizer>> = {
    Node: () => connectNodeAuthorizer(names, stores),
    RBAC: () => rbac,
    AlwaysAllow: () => alwaysAllow,
  };
  const chosen = modes.map((mode) => known[mode]());
  return isDiscoveryPublic ? [publicPaths(issuerPaths), ...chosen] : chosen;
}

const issuerPaths = ["/.well-known/openid-configuration", "/openid/v1/jwks"];
