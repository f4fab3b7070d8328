import { atomicList, boolean, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, struct } from "../../../machinery/schema/struct.ts";

const claimOrExpression = {
  claim: omitEmpty(1, string, "The claim."),
  expression: omitEmpty(2, string, "CEL on `claims`, instead of a claim."),
} as const;

const prefixedClaim = struct("apiserver.PrefixedClaimOrExpression", "A claim with a prefix, or an expression.", {
  ...claimOrExpression,
  prefix: pointer(3, string, "Put before the claim's value."),
});

const jwtAuthenticator = struct("apiserver.JWTAuthenticator", "An issuer, and what its tokens mean here.", {
  issuer: always(
    1,
    object({
      goType: "apiserver.Issuer",
      description: "The issuer, and the audiences of its tokens.",
      fields: {
        url: omitEmpty(1, string, "The claim `iss`."),
        discoveryURL: omitEmpty(2, string, "Where the issuer's document is, if not below url."),
        certificateAuthority: omitEmpty(3, string, "PEM of the CAs of the issuer's server."),
        audiences: omitEmpty(4, atomicList(string), "The claim `aud` names one of them."),
        audienceMatchPolicy: omitEmpty(5, string, "MatchAny."),
        egressSelectorType: omitEmpty(6, string, "Not supported."),
      },
    }),
    "The issuer, and the audiences of its tokens.",
  ),
  claimValidationRules: omitEmpty(
    2,
    atomicList(
      struct("apiserver.ClaimValidationRule", "A claim with its value, or an expression that is true.", {
        ...claimOrExpression,
        requiredValue: omitEmpty(3, string, "The value of the claim."),
        message: omitEmpty(4, string, "Said when the expression is false."),
      }),
    ),
    "What the claims must be.",
  ),
  claimMappings: always(
    3,
    object({
      goType: "apiserver.ClaimMappings",
      description: "Makes a user of claims.",
      fields: {
        username: always(1, prefixedClaim, "The user's name."),
        groups: always(2, prefixedClaim, "The user's groups."),
        uid: always(
          3,
          object({
            goType: "apiserver.ClaimOrExpression",
            description: "A claim or an expression.",
            fields: claimOrExpression,
          }),
          "The user's uid.",
        ),
        extra: omitEmpty(
          4,
          atomicList(
            struct("apiserver.ExtraMapping", "One attribute.", {
              key: omitEmpty(1, string, "Its key, below a domain."),
              valueExpression: omitEmpty(2, string, "CEL for its values."),
            }),
          ),
          "More attributes of the user.",
        ),
      },
    }),
    "Makes a user of claims.",
  ),
  userValidationRules: omitEmpty(
    4,
    atomicList(
      struct("apiserver.UserValidationRule", "An expression that is true.", {
        expression: omitEmpty(1, string, "CEL on `user`."),
        message: omitEmpty(2, string, "Said when the expression is false."),
      }),
    ),
    "What the user must be.",
  ),
});

/** The file of `--authentication-config` (upstream: `apiserver.config.k8s.io/v1`, the same as v1beta1). */
export const authenticationConfigurationSchema = struct(
  "apiserver.AuthenticationConfiguration",
  "Issuers whose tokens are accepted, and who may be anonymous.",
  {
    apiVersion: omitEmpty(0, string, "apiserver.config.k8s.io/v1"),
    kind: omitEmpty(0, string, "AuthenticationConfiguration"),
    jwt: omitEmpty(1, atomicList(jwtAuthenticator), "The issuers."),
    anonymous: pointer(
      2,
      object({
        goType: "apiserver.AnonymousAuthConfig",
        description: "Who may be anonymous.",
        fields: {
          enabled: omitEmpty(1, boolean, "Whether requests without credentials are accepted."),
          conditions: omitEmpty(
            2,
            atomicList(
              struct("apiserver.AnonymousAuthCondition", "A path.", { path: omitEmpty(1, string, "The whole path.") }),
            ),
            "The paths where they are. Empty: everywhere.",
          ),
        },
      }),
      "Who may be anonymous.",
    ),
  },
);

export type AuthenticationConfiguration = Infer<typeof authenticationConfigurationSchema>;
export type JwtAuthenticator = Infer<typeof jwtAuthenticator>;
export type PrefixedClaim = Infer<typeof prefixedClaim>;
