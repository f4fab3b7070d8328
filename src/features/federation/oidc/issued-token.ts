import { isJsonObject, jsonTypeName, memberOf } from "../../../machinery/api/json/json-object.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { commonAudiences, quotedAudiences } from "../../../machinery/authentication/token-authentication.ts";
import type { TokenCheck, TokenOutcome, VerifyToken } from "../../../machinery/authentication/token-authentication.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import type { SharePath } from "../../../machinery/scheduling/share-path.ts";
import { parseToken, VerifiedTokenCache } from "../../accounts/index.ts";
import type { ParsedToken } from "../../accounts/index.ts";
import { claimSeconds } from "./claim-seconds.ts";
import type { IssuerKey } from "./issuer-key.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { ClaimFault, userOfClaims } from "./map-claims.ts";
import type { Claims } from "./map-claims.ts";
import type { TrustedIssuer } from "./parse-authentication-configuration.ts";

interface VerifiedToken {
  readonly user: UserInfo;
  readonly expiresAt: number;
}

interface IssuedTokenOptions {
  readonly issuers: readonly (TrustedIssuer & { readonly keys: IssuerKeys })[];
  readonly names: Names;
  readonly apiAudiences: readonly string[];
  readonly clock: Clock;
}

/** The allowed difference between the clocks of the issuer and this server, as in go-oidc for `nbf`. */
const leewayMilliseconds = 60_000;

/**
 * The most signature checks for one token. Each takes up to a millisecond, in which nothing else happens, and anybody can make up tokens.
 */
const maximumChecks = 8;

/** None of the issuer's present keys made the signature: the issuer may have a new key, or its keys are just being fetched. */
const unknownKey = Symbol("unknown key");

/**
 * Verifies tokens of other issuers (upstream: `oidc.Authenticator`, with go-oidc's checks). A token of an issuer that is not configured is
 * not applicable, because nothing in a token may decide what is fetched. The audiences of the issuer's entry decide whether a token is
 * meant for this server. As in upstream, such a token is valid for the audiences of this API and for no others. Successful results are
 * cached for 10 s; the expiry is checked on every use.
 */
export function issuedTokens(options: IssuedTokenOptions): VerifyToken {
  const verifier = new IssuedTokenVerifier(options);
  return (token, check) => verifier.verify(token, check);
}

class IssuedTokenVerifier {
  readonly #options: IssuedTokenOptions;
  readonly #cache: VerifiedTokenCache<VerifiedToken>;
  readonly #issuersByUrl: ReadonlyMap<string, IssuedTokenOptions["issuers"][number]>;

  constructor(options: IssuedTokenOptions) {
    this.#options = options;
    this.#cache = new VerifiedTokenCache(options.clock);
    this.#issuersByUrl = new Map(options.issuers.map((one) => [one.issuer.url, one]));
  }

  verify(token: string, { audiences, asker }: TokenCheck): ReturnType<VerifyToken> {
    const common = commonAudiences(audiences, this.#options.apiAudiences);
    // Texts without dots are tokens of other kinds: do not compute a digest for them.
    if (common.length === 0 || !token.includes(".")) return notApplicable;
    const outcome = this.#outcome(token, common);
    if (outcome.outcome !== unknownKey) return outcome;
    return outcomeWithOtherKeys(outcome, { asker: asker(), tryAgain: () => this.#outcome(token, common) });
  }

  /** The result of the token with the present keys. */
  #outcome(token: string, audiences: readonly string[]): TokenOutcome | Retry {
    let failure: TokenOutcome | Retry = notApplicable;
    const verified = this.#cache.get(token, () => {
      const result = this.#verified(token);
      if (!("outcome" in result)) return result;
      failure = result;
      return undefined;
    });
    if (verified === undefined) return failure;
    if (this.#options.clock.now() >= verified.expiresAt) return refused(`oidc: verify token: ${expired}`);
    return { outcome: "authenticated", user: verified.user, audiences };
  }

  #verified(token: string): VerifiedToken | TokenOutcome | Retry {
    const { names, clock } = this.#options;
    const parsed = parseToken(token);
    const claims = parsed === undefined ? undefined : claimsOf(parsed);
    const trusted = typeof claims?.["iss"] === "string" ? this.#issuersByUrl.get(claims["iss"]) : undefined;
    if (parsed === undefined || claims === undefined || trusted === undefined) return notApplicable;
    const { issuer, mapping, keys } = trusted;
    const current = keys.current();
    if (current === undefined)
      return keys.isFirstAttempt ? { outcome: unknownKey, keys, tried: current } : refused(notInitialized);
    const { algorithm } = parsed.header;
    if (issuer.algorithms !== undefined && !issuer.algorithms.some((one) => one === algorithm)) {
      return refused("oidc: verify token: oidc: id token signed with unsupported algorithm");
    }
    const fault = claimsFault(claims, { audiences: issuer.audiences, now: clock.now() });
    if (fault !== undefined) return refused(`oidc: verify token: ${fault}`);
    const candidates = current.filter((key) => maySign(key, parsed));
    if (candidates.length > maximumChecks) return refused(ambiguousKey);
    if (!isSignedBy(parsed, candidates)) return { outcome: unknownKey, keys, tried: current };
    try {
      return { user: userOfClaims(claims, { mapping, names }), expiresAt: claimSeconds(claims["exp"]) * 1000 };
    } catch (error) {
      if (error instanceof ClaimFault) return refused(error.message);
      throw error;
    }
  }
}

/** Fetches the issuer's keys, and tries the token again with each changed set of keys, until one of these keys made the signature. */
async function outcomeWithOtherKeys(
  first: Retry,
  { asker, tryAgain }: { readonly asker: SharePath; readonly tryAgain: () => TokenOutcome | Retry },
): Promise<TokenOutcome> {
  const { keys } = first;
  let latest: TokenOutcome | Retry = first;
  // Do not try the same keys again: the result would be the same, and a token without a key id is checked with all of them.
  const withPresentKeys = (): TokenOutcome | Retry => {
    const isSame = latest.outcome !== unknownKey || (latest.tried !== undefined && latest.tried === keys.current());
    if (!isSame) latest = tryAgain();
    return latest;
  };
  await keys.refresh({ asker, isKnown: () => withPresentKeys().outcome !== unknownKey });
  const again = withPresentKeys();
  if (again.outcome !== unknownKey) return again;
  return refused(keys.current() === undefined ? notInitialized : badSignature);
}

interface Retry {
  readonly outcome: typeof unknownKey;
  readonly keys: IssuerKeys;
  /** The keys that did not make the signature. Undefined: no key was tried yet. */
  readonly tried: readonly IssuerKey[] | undefined;
}

const notInitialized = "oidc: authenticator not initialized";
const badSignature = "oidc: verify token: failed to verify signature: failed to verify id token signature";
const ambiguousKey =
  `oidc: verify token: more than ${maximumChecks} keys of the issuer may have signed the token: ` +
  "let its header and the issuer's key set name the key (kid)";
const expired = "oidc: token is expired";

const claimsOf = ({ payload }: ParsedToken): Claims | undefined => (isJsonObject(payload) ? payload : undefined);

function claimsFault(
  claims: Claims,
  { audiences, now }: { readonly audiences: readonly string[]; readonly now: number },
): string | undefined {
  const { aud, exp, nbf } = claims;
  const held = typeof aud === "string" ? [aud] : Array.isArray(aud) ? (aud as unknown[]) : [];
  const unfit = unfitClaim(claims, held) ?? unfitSource(claims);
  if (unfit !== undefined) return unfit;
  if (!audiences.some((one) => held.includes(one))) {
    return `oidc: expected audience in ${quotedAudiences(audiences)}`;
  }
  if (exp === undefined || now >= claimSeconds(exp) * 1000) return expired;
  if ((nbf ?? undefined) !== undefined && now + leewayMilliseconds < claimSeconds(nbf) * 1000) {
    return "oidc: current time is before the nbf (not before) time";
  }
  return undefined;
}

/** Why go-oidc cannot read the token: registered claims have their types, whichever of them the mapping uses (its `idToken`). */
function unfitClaim({ sub, nonce, at_hash, iat, exp, nbf }: Claims, audiences: readonly unknown[]): string | undefined {
  const texts = [
    ["sub", sub],
    ["nonce", nonce],
    ["at_hash", at_hash],
    ...audiences.map((one) => ["aud", one] as const),
  ] as const;
  for (const [name, value] of texts) {
    if (typeof (value ?? "") !== "string") return unfitValue(name, { value, type: "string" });
  }
  // Upstream reads null as no time only where it asks whether there is one: for nbf.
  const times = Object.entries({ exp, iat, nbf: nbf ?? undefined });
  for (const [name, value] of times) {
    if (value !== undefined && Number.isNaN(claimSeconds(value)))
      return unfitValue(name, { value, type: "json.Number" });
  }
  return undefined;
}

/** Why go-oidc cannot tell where the token's distributed claims are, even if nothing reads them. */
function unfitSource({ _claim_names, _claim_sources }: Claims): string | undefined {
  const names = _claim_names ?? {};
  const sources = _claim_sources ?? {};
  if (!isJsonObject(names)) return unfitValue("_claim_names", { value: names, type: "map[string]string" });
  if (!isJsonObject(sources)) {
    return unfitValue("_claim_sources", { value: sources, type: "map[string]oidc.claimSource" });
  }
  for (const found of Object.values(sources)) {
    const source = found ?? {};
    if (!isJsonObject(source)) return unfitValue("_claim_sources", { value: source, type: "oidc.claimSource" });
    for (const key of ["endpoint", "access_token"]) {
      const value = memberOf(source, key) ?? "";
      if (typeof value !== "string") return unfitValue(`_claim_sources.${key}`, { value, type: "string" });
    }
  }
  for (const found of Object.values(names)) {
    const source = found ?? "";
    if (typeof source !== "string") return unfitValue("_claim_names", { value: source, type: "string" });
    if (source === "") return "oidc: failed to obtain source from claim name";
    if (!Object.hasOwn(sources, source)) return "oidc: source does not exist";
  }
  return undefined;
}

const unfitValue = (name: string, { value, type }: { readonly value: unknown; readonly type: string }): string =>
  `oidc: failed to unmarshal claims: json: cannot unmarshal ${jsonTypeName(value)} into Go struct field idToken.${name} of type ${type}`;

/** Keys without an id, and tokens without one, are tried with each other: RFC 7515 section 6 makes `kid` a hint. */
const maySign = ({ kid, algorithms }: IssuerKey, { header }: ParsedToken): boolean =>
  (header.kid === undefined || header.kid === "" || kid === undefined || kid === header.kid) &&
  algorithms.includes(header.algorithm);

function isSignedBy({ header, signature, signedPart }: ParsedToken, keys: readonly IssuerKey[]): boolean {
  const data = Buffer.from(signedPart);
  return keys.some(({ verifies }) => verifies(data, { algorithm: header.algorithm, signature }));
}
