import { isSameText } from "../../../machinery/api/is-same-text.ts";
import { jsonFields } from "../../../machinery/api/json-object.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { serviceAccountGroups, serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import { isSignedBy, parseToken } from "./json-web-token.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import { commonAudiences, quotedAudiences } from "../../../machinery/authentication/token-authentication.ts";
import type { VerifyTokenInMemory } from "../../../machinery/authentication/token-authentication.ts";
import type { TokenKeys } from "../keys/token-keys.ts";
import type { TokenObjects } from "./token-objects.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";

/** The account and the Secret that a token belongs to. */
export interface SecretTokenSubject {
  readonly namespace: string;
  readonly secretName: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUid: string;
}

const issuerOf = (names: Names): string => `${names.profile}/serviceaccount`;

/**
 * Creates the tokens in service account token Secrets (upstream: `serviceaccount.LegacyClaims`). They do not expire:
 * they are valid as long as their Secret exists.
 */
export function createSecretTokenIssuer(
  keys: Pick<TokenKeys, "signing">,
  names: Names,
): (subject: SecretTokenSubject) => MaybePromise<string> {
  const claim = (suffix: string): string => names.key(`serviceaccount/${suffix}`);
  return ({ namespace, secretName, serviceAccountName, serviceAccountUid }) =>
    keys.signing().signToken({
      iss: issuerOf(names),
      [claim("namespace")]: namespace,
      [claim("secret.name")]: secretName,
      [claim("service-account.name")]: serviceAccountName,
      [claim("service-account.uid")]: serviceAccountUid,
      sub: serviceAccountUsername(namespace, serviceAccountName),
    });
}

export interface SecretTokenOptions {
  readonly names: Names;
  readonly keys: Pick<TokenKeys, "verification">;
  readonly apiAudiences: readonly string[];
  readonly objects: TokenObjects;
}

/**
 * Verifies tokens from Secrets (upstream: `serviceaccount.legacyValidator`). Accepts only the exact text that the named
 * Secret contains now. So a token ends with its Secret, and a valid signature alone is not enough. Valid only for the
 * API audiences.
 */
export function createSecretTokenVerifier({
  names,
  keys,
  apiAudiences,
  objects,
}: SecretTokenOptions): VerifyTokenInMemory {
  const issuer = issuerOf(names);
  return (token, audiences) => {
    const parsed = parseToken(token);
    const payload = stringsOf(parsed?.payload);
    if (parsed === undefined || payload.get("iss") !== issuer) return notApplicable;
    const { all, byId } = keys.verification();
    const candidates = parsed.header.kid === undefined ? all : (byId.get(parsed.header.kid) ?? []);
    if (!isSignedBy(parsed, candidates)) return refused("go-jose/go-jose: error in cryptographic primitive");

    const claim = (suffix: string): string => payload.get(names.key(`serviceaccount/${suffix}`)) ?? "";
    const [namespace, secretName, name, uid] = [
      claim("namespace"),
      claim("secret.name"),
      claim("service-account.name"),
      claim("service-account.uid"),
    ] as const;
    const username = serviceAccountUsername(namespace, name);
    if (namespace === "" || secretName === "" || name === "" || uid === "") return refused("claim is missing");
    if (payload.get("sub") !== username) return refused("sub claim does not match the service account");
    const common = commonAudiences(audiences, apiAudiences);
    if (common.length === 0) {
      return refused(
        `token audiences ${quotedAudiences(apiAudiences)} is invalid for the target audiences ${quotedAudiences(audiences)}`,
      );
    }
    const secret = objects.findSecret(namespace, secretName);
    if (secret?.token === undefined || secret.deletionTimestamp !== undefined) {
      return refused("service account token has been invalidated");
    }
    if (!isSameText(secret.token, token)) return refused("token does not match server's copy");
    const account = objects.findServiceAccount(namespace, name);
    if (account === undefined || account.deletionTimestamp !== undefined || account.uid !== uid) {
      return refused("service account token has been invalidated");
    }
    const user = withCredential(
      { username, uid, groups: serviceAccountGroups(namespace), extra: {} },
      { type: "token", id: undefined, issuedAtSeconds: undefined },
    );
    return { outcome: "authenticated", user, audiences: common };
  };
}

const stringsOf = (payload: unknown): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(jsonFields(payload)).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
