import { atomicList, boolean, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";

const claimOrExpression = {
  claim: { number: 1, schema: string, description: "The claim." },
  expression: { number: 2, schema: string, description: "CEL on `claims`, instead of a claim." },
} as const;

const prefixedClaim = object({
  goType: "apiserver.PrefixedClaimOrExpression",
  description: "A claim with a prefix, or an expression.",
  fields: {
    ...claimOrExpression,
    prefix: { number: 3, schema: string, presence: "pointer", description: "Put before the claim's value." },
  },
});

const jwtAuthenticator = object({
  goType: "apiserver.JWTAuthenticator",
  description: "An issuer, and what its tokens mean here.",
  fields: {
    issuer: {
      number: 1,
      presence: "always",
      description: "The issuer, and the audiences of its tokens.",
      schema: object({
        goType: "apiserver.Issuer",
        description: "The issuer, and the audiences of its tokens.",
        fields: {
          url: { number: 1, schema: string, description: "The claim `iss`." },
          discoveryURL: { number: 2, schema: string, description: "Where the issuer's document is, if not below url." },
          certificateAuthority: { number: 3, schema: string, description: "PEM of the CAs of the issuer's server." },
          audiences: { number: 4, schema: atomicList(string), description: "The claim `aud` names one of them." },
          audienceMatchPolicy: { number: 5, schema: string, description: "MatchAny." },
          egressSelectorType: { number: 6, schema: string, description: "Not supported." },
        },
      }),
    },
    claimValidationRules: {
      number: 2,
      description: "What the claims must be.",
      schema: atomicList(
        object({
          goType: "apiserver.ClaimValidationRule",
          description: "A claim with its value, or an expression that is true.",
          fields: {
            ...claimOrExpression,
            requiredValue: { number: 3, schema: string, description: "The value of the claim." },
            message: { number: 4, schema: string, description: "Said when the expression is false." },
          },
        }),
      ),
    },
    claimMappings: {
      number: 3,
      presence: "always",
      description: "Makes a user of claims.",
      schema: object({
        goType: "apiserver.ClaimMappings",
        description: "Makes a user of claims.",
        fields: {
          username: { number: 1, schema: prefixedClaim, presence: "always", description: "The user's name." },
          groups: { number: 2, schema: prefixedClaim, presence: "always", description: "The user's groups." },
          uid: {
            number: 3,
            presence: "always",
            description: "The user's uid.",
            schema: object({
              goType: "apiserver.ClaimOrExpression",
              description: "A claim or an expression.",
              fields: claimOrExpression,
            }),
          },
          extra: {
            number: 4,
            description: "More attributes of the user.",
            schema: atomicList(
              object({
                goType: "apiserver.ExtraMapping",
                description: "One attribute.",
                fields: {
                  key: { number: 1, schema: string, description: "Its key, below a domain." },
                  valueExpression: { number: 2, schema: string, description: "CEL for its values." },
                },
              }),
            ),
          },
        },
      }),
    },
    userValidationRules: {
      number: 4,
      description: "What the user must be.",
      schema: atomicList(
        object({
          goType: "apiserver.UserValidationRule",
          description: "An expression that is true.",
          fields: {
            expression: { number: 1, schema: string, description: "CEL on `user`." },
            message: { number: 2, schema: string, description: "Said when the expression is false." },
          },
        }),
      ),
    },
  },
});

/** The file of `--authentication-config` (upstream: `apiserver.config.k8s.io/v1`, the same as v1beta1). */
export const authenticationConfigurationSchema = object({
  goType: "apiserver.AuthenticationConfiguration",
  description: "Issuers whose tokens are accepted, and who may be anonymous.",
  fields: {
    apiVersion: { number: 0, schema: string, description: "apiserver.config.k8s.io/v1" },
    kind: { number: 0, schema: string, description: "AuthenticationConfiguration" },
    jwt: { number: 1, schema: atomicList(jwtAuthenticator), description: "The issuers." },
    anonymous: {
      number: 2,
      presence: "pointer",
      description: "Who may be anonymous.",
      schema: object({
        goType: "apiserver.AnonymousAuthConfig",
        description: "Who may be anonymous.",
        fields: {
          enabled: { number: 1, schema: boolean, description: "Whether requests without credentials are accepted." },
          conditions: {
            number: 2,
            description: "The paths where they are. Empty: everywhere.",
            schema: atomicList(
              object({
                goType: "apiserver.AnonymousAuthCondition",
                description: "A path.",
                fields: { path: { number: 1, schema: string, description: "The whole path." } },
              }),
            ),
          },
        },
      }),
    },
  },
});

export type AuthenticationConfiguration = Infer<typeof authenticationConfigurationSchema>;
export type JwtAuthenticator = Infer<typeof jwtAuthenticator>;
export type PrefixedClaim = Infer<typeof prefixedClaim>;
