import { randomInt } from "node:crypto";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { parseTime } from "../../../machinery/schema/go-time.ts";
import { bindingKeys } from "./bootstrap-binding.ts";
import { encodedText, textsOf } from "../../core/index.ts";
import type { Secret } from "../../core/index.ts";

/** The parts of a bootstrap token that are not secret. */
export interface BootstrapToken {
  readonly id: string;
  /** The RFC 3339 time of expiration. Undefined: never. */
  readonly expiration: string | undefined;
  /** The groups of the token's user, in addition to `system:bootstrappers`. */
  readonly groups: readonly string[];
  readonly description: string | undefined;
  /** A node's name or a pattern; undefined: any. */
  readonly nodeNames: string | undefined;
  /** The node whose key has used the token. Undefined: the token is unused, or for many uses. */
  readonly usedBy: string | undefined;
  /** Whether it can authenticate at all: it may be used for that, its id is that of its Secret, and its groups are allowed. */
  readonly isUsable: boolean;
}

export interface NewBootstrapToken {
  readonly groups: readonly string[];
  /** Milliseconds since the epoch; undefined: never. */
  readonly expiresAt: number | undefined;
  readonly description: string | undefined;
  /** A node's name or a pattern; undefined: any. */
  readonly nodeNames?: string | undefined;
  readonly isForOneUse?: boolean;
  readonly mayReplaceNode?: boolean;
}

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
const randomText = (length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)] ?? "").join("");

const secretNamePrefix = "bootstrap-token-";

/** The name of the Secret of a token. */
export const bootstrapSecretName = (tokenId: string): string => `${secretNamePrefix}${tokenId}`;

/** The type of the Secrets of bootstrap tokens (upstream: `bootstrap.kubernetes.io/token`). */
export const bootstrapSecretType = (names: Names): string => `bootstrap.${names.domain}/token`;

/** Whether a Secret is a bootstrap token, in either spelling of its type. */
export const isBootstrapSecret = (names: Names, { metadata, type = "" }: Secret): boolean =>
  names.ownKey(type) === bootstrapSecretType(names) && metadata.namespace === names.namespaces.system;

/** Whether a token may give its user this group. A token with another group does not authenticate (upstream: `ValidateBootstrapGroupName`). */
export const isBootstrapGroup = (group: string): boolean =>
  /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group);

/** A new token `id.secret` and the Secret that makes it valid. */
export function newBootstrapToken(
  names: Names,
  { groups, expiresAt, description, nodeNames, isForOneUse, mayReplaceNode }: NewBootstrapToken,
): { readonly token: string; readonly secret: Secret } {
  const id = randomText(6);
  const secret = randomText(16);
  const data = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": groups.join(","),
    ...(expiresAt !== undefined && { expiration: timestamp(expiresAt) }),
    ...(description !== undefined && { description }),
    ...(nodeNames !== undefined && { [bindingKeys.nodeNames]: nodeNames }),
    ...(isForOneUse === true && { [bindingKeys.isForOneUse]: "true" }),
    ...(mayReplaceNode === true && { [bindingKeys.mayReplaceNode]: "true" }),
  };
  return {
    token: `${id}.${secret}`,
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: bootstrapSecretName(id), namespace: names.namespaces.system },
      type: bootstrapSecretType(names),
      data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encodedText(value)])),
    },
  };
}

/**
 * When a token with this expiration ends, in milliseconds since the epoch. Undefined: never. With a text that is not an RFC 3339 time, the
 * token has expired (upstream: `bootstrap.isSecretExpired`).
 */
export function bootstrapTokenEnd(expiration = ""): number | undefined {
  if (expiration === "") return undefined;
  try {
    const { seconds, nanoseconds } = parseTime(expiration);
    return seconds * 1000 + nanoseconds / 1e6;
  } catch {
    return 0;
  }
}

/** Reads a token's Secret. */
export function bootstrapTokenOf({ metadata, data }: Secret): BootstrapToken {
  const value = textsOf(data);
  const id = value("token-id") ?? "";
  const extraGroups = value("auth-extra-groups") ?? "";
  const groups = extraGroups === "" ? [] : extraGroups.split(",");
  return {
    id,
    expiration: value("expiration"),
    groups,
    description: value("description"),
    nodeNames: value(bindingKeys.nodeNames),
    usedBy: value(bindingKeys.usedByNode),
    isUsable:
      value("usage-bootstrap-authentication") === "true" &&
      bootstrapSecretName(id) === metadata.name &&
      groups.every(isBootstrapGroup),
  };
}

const namedToken = new RegExp(`^(?:${secretNamePrefix})?([a-z0-9]{6})(?:\\.[a-z0-9]{16})?$`);

/** The token id in a text: the token itself (`id.secret`), its id, or the name of its Secret. Undefined for any other text. */
export const tokenIdOf = (text: string): string | undefined => namedToken.exec(text)?.[1];
