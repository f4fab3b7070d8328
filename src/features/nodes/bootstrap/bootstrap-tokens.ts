import { isSameText } from "../../../machinery/api/text/is-same-text.ts";
import { textsOf } from "../../core/index.ts";
import type { Secret } from "../../core/index.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { bootstrapBinding } from "./bootstrap-binding.ts";
import {
  bootstrapSecretName,
  bootstrapTokenEnd,
  bootstrapTokenOf,
  isBootstrapSecret,
} from "./bootstrap-token-secret.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";

interface BootstrapTokenOptions {
  readonly names: Names;
  readonly clock: Clock;
  /** Finds a Secret in the system namespace. */
  findSecret(name: string): Secret | undefined;
  /** Whether a machine is locked out. A token for this machine is then refused. */
  isLocked(node: string): boolean;
}

const tokenFormat = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const bootstrappersGroup = "system:bootstrappers";
const usernamePrefix = "system:bootstrap:";

/** The id of the bootstrap token with which a user has authenticated. */
export const bootstrapTokenIdOf = ({ username, groups }: UserInfo): string | undefined =>
  username.startsWith(usernamePrefix) && groups.includes(bootstrappersGroup)
    ? username.slice(usernamePrefix.length)
    : undefined;

/**
 * Finds the user of a bootstrap token `id.secret`: `system:bootstrap:id`, while the Secret `bootstrap-token-id` in the
 * system namespace has the right type, allows authentication and has not expired (upstream:
 * `bootstrap.TokenAuthenticator`). Any other Secret does not authenticate.
 */
export function bootstrapTokens({
  names,
  clock,
  findSecret,
  isLocked,
}: BootstrapTokenOptions): (token: string) => UserInfo | undefined {
  return (token) => {
    const [, id, secretPart] = tokenFormat.exec(token) ?? [];
    if (id === undefined || secretPart === undefined) return undefined;
    const secret = findSecret(bootstrapSecretName(id));
    if (secret === undefined || !isBootstrapSecret(names, secret)) return undefined;
    if (secret.metadata.deletionTimestamp !== undefined) return undefined;

    const { isUsable, groups, expiration } = bootstrapTokenOf(secret);
    const end = bootstrapTokenEnd(expiration);
    const isCurrent = end === undefined || clock.now() < end;
    const kept = textsOf(secret.data)("token-secret") ?? "";
    if (!isSameText(kept, secretPart) || !isCurrent || !isUsable) return undefined;
    const { nodeNames } = bootstrapBinding(secret);
    if (nodeNames !== undefined && isLocked(nodeNames)) return undefined;
    return {
      username: `${usernamePrefix}${id}`,
      groups: [bootstrappersGroup, ...new Set(groups.toSorted())],
      extra: {},
    };
  };
}
