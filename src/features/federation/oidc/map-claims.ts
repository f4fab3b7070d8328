import { memberOf } from "../../../machinery/api/json/json-object.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { celClaimOf, TooDeep } from "../../../machinery/expressions/cel-value.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import { claimSeconds } from "./claim-seconds.ts";
import type { ClaimExpression } from "./claim-expression.ts";

/** The value of a claim with a prefix, or the result of an expression. */
type PrefixedClaimOrExpression =
  | { readonly claim: string; readonly prefix?: string; readonly expression?: undefined }
  | { readonly expression: ClaimExpression };

export interface ExtraMapping {
  readonly key: string;
  readonly expression: ClaimExpression;
}

export interface ValidationRule {
  readonly expression: ClaimExpression;
  /** The error when the expression is false. May be "". */
  readonly message: string;
}

/** How to make a user from the claims of one issuer's tokens, and which rules claims and user must meet. */
export interface ClaimMapping {
  readonly username: PrefixedClaimOrExpression;
  readonly groups: PrefixedClaimOrExpression | undefined;
  readonly uid: PrefixedClaimOrExpression | undefined;
  readonly extra: readonly ExtraMapping[];
  /** The required values by claim. */
  readonly requiredClaims: ReadonlyMap<string, string>;
  readonly claimRules: readonly ValidationRule[];
  readonly userRules: readonly ValidationRule[];
}

export type Claims = Readonly<Record<string, unknown>>;

/** The claims do not result in a user. The message names claims and rules, and quotes no value of a token. */
export class ClaimFault extends Error {}

/**
 * Makes the user of a verified token (upstream: `oidc.Authenticator`, in its order and nearly in its words). Throws ClaimFault. Stricter
 * than upstream: an empty name is refused. A name or group that begins with `system:` is refused too, unless the operator configured it in
 * a prefix or an expression.
 */
export function userOfClaims(
  given: Claims,
  { mapping, names }: { readonly mapping: ClaimMapping; readonly names: Names },
): UserInfo {
  const claims = checkedClaims(given);
  const username = usernameOf(claims, mapping);
  const groups = groupsOf(claims, mapping);
  const uid = uidOf(claims, mapping);
  const user: UserInfo = {
    username,
    ...(uid !== "" && { uid }),
    groups,
    extra: extraOf(claims, {
      mappings: mapping.extra,
      idKey: names.subdomainKey("authentication", "credential-id"),
    }),
  };
  for (const [claim, value] of mapping.requiredClaims) {
    if (!Object.hasOwn(claims, claim)) throw new ClaimFault(`oidc: required claim ${claim} not present in ID token`);
    if (claims[claim] !== value) throw new ClaimFault(`oidc: required claim ${claim} value does not match`);
  }
  check(mapping.claimRules, { value: claims, what: "claim validation expression" });
  const { extra } = user;
  check(mapping.userRules, { value: { username, uid, groups, extra }, what: "user info validation rule" });
  const issuedAt = claims["iat"];
  return withCredential(user, {
    type: "token",
    id: tokenId(claims),
    issuedAtSeconds: issuedAt === undefined ? undefined : claimSeconds(issuedAt),
  });
}

/** The id of a token (RFC 7519 section 4.1.7). */
function tokenId(claims: Claims): string | undefined {
  const id = memberOf(claims, "jti");
  return typeof id === "string" && id !== "" ? id : undefined;
}

function usernameOf(claims: Claims, { username: mapping }: ClaimMapping): string {
  if (mapping.expression !== undefined)
    return nonEmpty(textResult(mapping.expression, { value: claims, what: "username" }));
  const { claim, prefix = "" } = mapping;
  const value = textClaim(claims, { claim, what: "username" });
  // An email address that is not verified proves nothing (OpenID Connect Core section 5.1).
  if (claim === "email" && Object.hasOwn(claims, "email_verified") && claims["email_verified"] !== true) {
    throw new ClaimFault("oidc: email not verified");
  }
  nonEmpty(value);
  return notReserved(value, prefix);
}

function groupsOf(claims: Claims, { groups: mapping }: ClaimMapping): readonly string[] {
  if (mapping === undefined) return [];
  if (mapping.expression !== undefined) return textsResult(mapping.expression, { value: claims, what: "group" });
  const { claim, prefix = "" } = mapping;
  if (!Object.hasOwn(claims, claim)) {
    if (isDistributed(claims, claim)) {
      throw new ClaimFault(`oidc: the claim ${claim} is kept elsewhere; distributed claims are not followed`);
    }
    return [];
  }
  const value = claims[claim] ?? [];
  const groups = typeof value === "string" ? [value] : value;
  if (!isTexts(groups))
    throw new ClaimFault(`oidc: parse groups claim "${claim}": it is neither a string nor a list of strings`);
  return groups.map((group) => notReserved(group, prefix));
}

function uidOf(claims: Claims, { uid: mapping }: ClaimMapping): string {
  if (mapping === undefined) return "";
  return mapping.expression === undefined
    ? textClaim(claims, { claim: mapping.claim, what: "uid" })
    : textResult(mapping.expression, { value: claims, what: "uid" });
}

/** The token's id is included, so that one token can be followed through the audit log. */
function extraOf(
  claims: Claims,
  { mappings, idKey }: { readonly mappings: readonly ExtraMapping[]; readonly idKey: string },
): Record<string, readonly string[]> {
  const mapped = mappings
    .map(({ key, expression }) => [key, textsResult(expression, { value: claims, what: "extra" })] as const)
    .filter(([, values]) => values.length > 0);
  const id = tokenId(claims);
  return Object.fromEntries([...mapped, ...(id === undefined ? [] : [[idKey, [`JTI=${id}`]] as const])]);
}

function textClaim(claims: Claims, { claim, what }: { readonly claim: string; readonly what: string }): string {
  const value = memberOf(claims, claim);
  if (value === undefined) throw new ClaimFault(`oidc: parse ${what} claims "${claim}": claim not present`);
  if (typeof value !== "string") throw new ClaimFault(`oidc: parse ${what} claims "${claim}": it is not a string`);
  return value;
}

interface ExpressionInput {
  readonly value: Claims;
  /** The purpose of the expression, for messages. */
  readonly what: string;
}

function textResult(expression: ClaimExpression, { value, what }: ExpressionInput): string {
  const text = evaluated(expression, { value, what: `${what} claim expression` });
  if (typeof text === "string") return text;
  throw new ClaimFault(
    `oidc: error evaluating ${what} claim expression: ${what} claim expression must return a string`,
  );
}

/** The strings of a result without empty ones. null counts as an empty list. */
function textsResult(expression: ClaimExpression, { value, what }: ExpressionInput): string[] {
  const result = evaluated(expression, { value, what: `${what} claim expression` }) ?? [];
  const texts = typeof result === "string" ? [result] : result;
  if (isTexts(texts)) return texts.filter((text) => text !== "");
  throw new ClaimFault(
    `oidc: error evaluating ${what} claim expression: expression must return a string or a list of strings`,
  );
}

function check(rules: readonly ValidationRule[], { value, what }: ExpressionInput): void {
  for (const { expression, message } of rules) {
    if (evaluated(expression, { value, what }) === true) continue;
    const reason = message === "" ? "" : `: ${message}`;
    throw new ClaimFault(
      `oidc: error evaluating ${what}: validation expression '${expression.source}' failed${reason}`,
    );
  }
}

function evaluated(expression: ClaimExpression, { value, what }: ExpressionInput): unknown {
  try {
    return expression.evaluate(value);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it failed";
    throw new ClaimFault(`oidc: error evaluating ${what}: expression '${expression.source}': ${reason}`);
  }
}

/** The claims with their values in CEL's types. */
function checkedClaims(claims: Claims): Claims {
  try {
    return Object.fromEntries(Object.entries(claims).map(([claim, value]) => [claim, celClaimOf(value)]));
  } catch (error) {
    if (error instanceof TooDeep) throw new ClaimFault(`oidc: the claims: ${error.message}`);
    throw error;
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

function nonEmpty(username: string): string {
  if (username === "") throw new ClaimFault("oidc: the username is empty");
  return username;
}

const reserved = "system:";

function notReserved(value: string, prefix: string): string {
  const name = prefix + value;
  if (!name.startsWith(reserved) || prefix.startsWith(reserved)) return name;
  throw new ClaimFault(
    `oidc: a claim names a user or group of ${reserved}, which is reserved; set a prefix, or map it by an expression`,
  );
}

/**
 * Whether a claim is distributed (OpenID Connect Core section 5.6.2). Such claims are not fetched, because the token would decide where
 * this server connects to.
 */
function isDistributed(claims: Claims, claim: string): boolean {
  const names = claims["_claim_names"];
  return names instanceof Map && names.has(claim);
}
