import type { Clock } from "../../../machinery/api/clock.ts";
import { isJsonObject, memberOf } from "../../../machinery/api/json/json-object.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { serviceAccountGroups, serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { boundObjectFault, leewaySeconds } from "./bound-objects.ts";
import { parseToken, signatureFault } from "./json-web-token.ts";
import { decodeClaims } from "./token-claims.ts";
import type { TokenClaims } from "./token-claims.ts";
import type { TokenKeys, VerificationKeys } from "../keys/token-keys.ts";
import type { TokenObjects } from "./token-objects.ts";
import { commonAudiences, refusedAudiences } from "../../../machinery/authentication/token-authentication.ts";
import type {
  TokenOutcome,
  VerifyToken,
  VerifyTokenInMemory,
} from "../../../machinery/authentication/token-authentication.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import { WaitingTokens } from "../../../machinery/authentication/waiting-tokens.ts";
import { VerifiedTokenCache } from "./verified-token-cache.ts";

export interface ServiceAccountTokenOptions {
  readonly names: Names;
  readonly keys: Pick<TokenKeys, "verification">;
  /** Accepted `iss` values. New tokens use the first. */
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly objects: TokenObjects;
  readonly clock: Clock;
}

/** The signed claims of a token, and the user that follows from them. */
interface VerifiedToken {
  readonly claims: TokenClaims;
  readonly user: UserInfo;
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
}

/**
 * Verifies tokens of TokenRequest (upstream: `serviceaccount.JWTTokenAuthenticator`). Signature results are cached for
 * 10 s; times, audiences and bound objects are checked on every use. Stricter than upstream: only canonical base64url
 * is accepted, `exp` and the account's uid are required, and `sub` must name the account of the private claim.
 */
export function createServiceAccountTokenVerifier(options: ServiceAccountTokenOptions): VerifyTokenInMemory {
  const { apiAudiences, objects, clock } = options;
  let keys = options.keys.verification();
  let cache = new VerifiedTokenCache<VerifiedToken>(clock);
  const verify = signatureVerifier(options);

  return (token, { audiences }) => {
    // Texts without dots are tokens of other kinds: do not compute a digest for them.
    if (!token.includes(".")) return notApplicable;
    const current = options.keys.verification();
    if (current !== keys) {
      // Empty the cache, so that the retirement of a key ends its tokens at once.
      keys = current;
      cache = new VerifiedTokenCache<VerifiedToken>(clock);
    }
    let failure: TokenOutcome = notApplicable;
    const verified = cache.get(token, () => {
      const result = verify(token, current);
      if ("claims" in result) return result;
      failure = result;
      return undefined;
    });
    if (verified === undefined) return failure;

    const { claims, user } = verified;
    const held = claims.audiences.length > 0 ? claims.audiences : apiAudiences;
    const common = commonAudiences(audiences, held);
    if (common.length === 0) return refusedAudiences(audiences, held);
    const now = clock.now();
    const fault = timeFault(verified, now) ?? boundObjectFault(claims, { objects, now });
    return fault === undefined ? { outcome: "authenticated", user, audiences: common } : refused(fault);
  };
}

/**
 * Before a token of this server's issuers is refused for an unknown key, fetches the keys: the external signer may have just made the key
 * (upstream: `keyCache.GetPublicKeys`). All other tokens are verified at once. Rejects with a 429 ApiError when too many tokens wait, in
 * all or of one asker.
 */
export function learningKeys(
  verify: VerifyTokenInMemory,
  { keys, issuers }: Pick<ServiceAccountTokenOptions, "issuers"> & { readonly keys: TokenKeys },
): VerifyToken {
  const acceptedIssuers = new Set(issuers);
  const waiting = new WaitingTokens(tooManyWait);
  return (token, check) => {
    const parsed = token.includes(".") ? parseToken(token) : undefined;
    const { kid = "" } = parsed?.header ?? {};
    const isKnown = kid === "" || keys.verification().byId.has(kid);
    if (isKnown || !hasIssuer(parsed?.payload, acceptedIssuers)) return verify(token, check);
    return waiting.wait(check.asker(), async () => keys.learn?.(kid)).then(() => verify(token, check));
  };
}

const tooManyWait = "Too many requests wait for the keys of the external signer, please try again later.";

/** Why a token is not valid now, or undefined. The checks are in go-jose's order. */
function timeFault({ notBefore, expiresAt, issuedAt }: VerifiedToken, now: number): string | undefined {
  if (now < notBefore) return "service account token is not valid yet";
  if (now > expiresAt) return "service account token has expired";
  return now < issuedAt ? "service account token is issued in the future" : undefined;
}

/** Verifies what does not change while a token is cached: its signature and its claims without the times. */
function signatureVerifier({
  names,
  issuers,
}: ServiceAccountTokenOptions): (token: string, keys: VerificationKeys) => VerifiedToken | TokenOutcome {
  const acceptedIssuers = new Set(issuers);

  return (token, keys) => {
    const parsed = parseToken(token);
    if (parsed === undefined || !hasIssuer(parsed.payload, acceptedIssuers)) return notApplicable;
    const fault = signatureFault(parsed, keys);
    if (fault !== undefined) return refused(fault);

    const claims = decodeClaims(parsed.payload, names.tokenClaim);
    if (claims === undefined) return refused("service account token claims could not be read");
    const { namespace, serviceAccount, subject, issuedAtSeconds = 0, notBeforeSeconds = 0, expirationSeconds } = claims;
    if (expirationSeconds === undefined) return refused("service account token does not say when it expires");
    if (subject !== serviceAccountUsername(namespace, serviceAccount.name)) {
      return refused("service account token subject does not match its claims");
    }
    const leeway = leewaySeconds * 1000;
    return {
      claims,
      user: userOf(claims, names),
      expiresAt: expirationSeconds * 1000 + leeway,
      notBefore: notBeforeSeconds * 1000 - leeway,
      issuedAt: issuedAtSeconds * 1000 - leeway,
    };
  };
}

function hasIssuer(payload: unknown, issuers: ReadonlySet<string>): boolean {
  const issuer = isJsonObject(payload) ? memberOf(payload, "iss") : undefined;
  return typeof issuer === "string" && issuers.has(issuer);
}

/**
 * The user of a token. Its extra fields identify the token, and the Pod or node that it is bound to (upstream:
 * `ServiceAccountInfo`).
 */
function userOf(
  { namespace, serviceAccount, tokenId, issuedAtSeconds, pod, node }: TokenClaims,
  names: Names,
): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  const add = (suffix: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") extra[names.subdomainKey("authentication", suffix)] = [value];
  };
  add("pod-name", pod?.name);
  add("pod-uid", pod?.uid);
  add("credential-id", tokenId === undefined ? undefined : `JTI=${tokenId}`);
  add("node-name", node?.name);
  add("node-uid", node?.uid);
  const user = {
    username: serviceAccountUsername(namespace, serviceAccount.name),
    ...(serviceAccount.uid !== undefined && { uid: serviceAccount.uid }),
    groups: serviceAccountGroups(namespace),
    extra,
  };
  return withCredential(user, { type: "token", id: tokenId, issuedAtSeconds });
}
