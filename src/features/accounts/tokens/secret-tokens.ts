import { isSameText } from "../../../machinery/api/text/is-same-text.ts";
import { jsonFields } from "../../../machinery/api/json/json-object.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { serviceAccountGroups, serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import { parseToken, signatureFault } from "./json-web-token.ts";
import { withCredential } from "../../../machinery/authentication/presented-credential.ts";
import { commonAudiences, refusedAudiences } from "../../../machinery/authentication/token-authentication.ts";
import type { VerifyTokenInMemory } from "../../../machinery/authentication/token-authentication.ts";
import type { TokenKeys } from "../keys/token-keys.ts";
import type { FoundSecret, FoundServiceAccount, TokenObjects } from "./token-objects.ts";
import type { UsedSecret } from "./secret-token-uses.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";

/** The account and the Secret that a token belongs to. */
interface SecretTokenSubject {
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
  /** Called for each use of a token that its Secret contains and whose account exists, also if the Secret is marked invalid. */
  readonly onUse: (used: UsedSecret) => void;
}

/**
 * Verifies tokens from Secrets (upstream: `serviceaccount.legacyValidator`). Accepts only the exact text that the named Secret contains
 * now. So a token ends with its Secret, and a valid signature alone is not enough. Such tokens are valid only for the API audiences.
 */
export function createSecretTokenVerifier({
  names,
  keys,
  apiAudiences,
  objects,
  onUse,
}: SecretTokenOptions): VerifyTokenInMemory {
  const issuer = issuerOf(names);
  return (token, { audiences }) => {
    const parsed = parseToken(token);
    if (parsed === undefined) return notApplicable;
    const payload = stringsOf(parsed.payload);
    if (payload.get("iss") !== issuer) return notApplicable;
    const unsigned = signatureFault(parsed, keys.verification());
    if (unsigned !== undefined) return refused(unsigned);

    const common = commonAudiences(audiences, apiAudiences);
    if (common.length === 0) return refusedAudiences(audiences, apiAudiences);
    const claim = (suffix: string): string => payload.get(names.key(`serviceaccount/${suffix}`)) ?? "";
    const claims: Claims = {
      sub: payload.get("sub") ?? "",
      namespace: claim("namespace"),
      secretName: claim("secret.name"),
      serviceAccountName: claim("service-account.name"),
      serviceAccountUID: claim("service-account.uid"),
    };
    const fault = claimsFault(claims);
    if (fault !== undefined) return refused(fault);
    const found = findHolders(claims, { token, objects });
    if (typeof found === "string") return refused(found);
    const { secret, account } = found;
    onUse({ namespace: claims.namespace, name: claims.secretName, secret });
    const mark = markFault(claims, { secret, names });
    if (mark !== undefined) return refused(mark);
    const isGenerated = account.secrets?.some(({ name }) => name === claims.secretName) === true;
    const user = withCredential(
      {
        username: claims.sub,
        uid: claims.serviceAccountUID,
        groups: serviceAccountGroups(claims.namespace),
        extra: {},
      },
      { type: "token", id: undefined, issuedAtSeconds: undefined, ...(isGenerated && { warning: generatedWarning }) },
    );
    return { outcome: "authenticated", user, audiences: common };
  };
}

/** The warning for tokens in Secrets that the account lists: earlier versions of upstream made such a Secret for every account. */
const generatedWarning =
  "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.";

/** The claims of a token, in the order in which they are checked. The names are those of upstream's messages. */
interface Claims {
  readonly sub: string;
  readonly namespace: string;
  readonly secretName: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
}

function claimsFault(claims: Claims): string | undefined {
  const missing = Object.entries(claims).find(([, value]) => value === "");
  if (missing !== undefined) return `${missing[0]} claim is missing`;
  const isOfAccount = claims.sub === serviceAccountUsername(claims.namespace, claims.serviceAccountName);
  return isOfAccount ? undefined : "sub claim is invalid";
}

interface Holders {
  readonly secret: FoundSecret;
  readonly account: FoundServiceAccount;
}

/** The Secret and the account of a token, or the reason why they make it void. */
function findHolders(
  { namespace, secretName, serviceAccountName: name, serviceAccountUID: uid }: Claims,
  { token, objects }: { readonly token: string; readonly objects: TokenObjects },
): Holders | string {
  const secret = objects.findSecret(namespace, secretName);
  if (secret === undefined || secret.deletionTimestamp !== undefined) return "Token has been invalidated";
  if (!isSameText(secret.token ?? "", token)) return "Token does not match server's copy";
  const account = objects.findServiceAccount(namespace, name);
  if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
  if (account.deletionTimestamp !== undefined) return `ServiceAccount ${namespace}/${name} has been deleted`;
  if (account.uid !== uid) return `ServiceAccount UID (${account.uid}) does not match claim (${uid})`;
  return { secret, account };
}

/** Why the mark of a Secret makes its token void, or undefined when it does not. */
function markFault(
  { namespace, secretName, serviceAccountName }: Claims,
  { secret, names }: { readonly secret: FoundSecret; readonly names: Names },
): string | undefined {
  const invalidSince = spellingsOf(names, (one) => one.key("legacy-token-invalid-since")).find(
    (label) => (secret.labels?.[label] ?? "") !== "",
  );
  if (invalidSince === undefined) return undefined;
  return (
    `the token in secret ${namespace}/${secretName} for service account ${namespace}/${serviceAccountName} has been marked invalid. Use tokens ` +
    `from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to ` +
    "temporarily allow use of this token"
  );
}

const stringsOf = (payload: unknown): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(jsonFields(payload)).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
