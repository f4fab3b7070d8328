import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { atomicList, int64, object, string, time } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";

export const defaultExpirationSeconds = 3600;

const boundObjectReference = object({
  goType: "v1.BoundObjectReference",
  description: "An object that a token is bound to. The token is valid only while the object exists.",
  fields: {
    kind: { number: 1, schema: string, description: "The kind: Pod, Secret or Node." },
    apiVersion: { number: 2, schema: string, description: "The API version of the object." },
    name: { number: 3, schema: string, description: "The name of the object." },
    uid: { number: 4, schema: string, description: "The UID of the object; when given, it must be the current one." },
  },
});

/** A request for a token, and the issued token. */
export const tokenRequestSchema = object({
  goType: "v1.TokenRequest",
  description: "Requests a token for a service account.",
  fields: {
    ...objectFields,
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "The properties of the requested token.",
      schema: object({
        goType: "v1.TokenRequestSpec",
        description: "The properties of the requested token.",
        fields: {
          audiences: {
            number: 1,
            schema: atomicList(string),
            presence: "always",
            isRequired: true,
            description:
              "The audiences of the token. A recipient that is not in the list must refuse the token. A token for " +
              "several audiences is valid for each of them, so they must trust each other. Empty: the API server.",
          },
          boundObjectRef: {
            number: 3,
            schema: boundObjectReference,
            presence: "nullable",
            description:
              "The token is valid only while this object exists. The API server checks this. Other recipients may not: " +
              "for them, use a short lifetime.",
          },
          expirationSeconds: {
            number: 4,
            schema: int64,
            presence: "pointer",
            default: defaultExpirationSeconds,
            description:
              "The requested lifetime in seconds. The issuer may choose another: see the status's " +
              "`expirationTimestamp`.",
          },
        },
      }),
    },
    status: {
      number: 3,
      presence: "always",
      description: "The token. Set by the server.",
      schema: object({
        goType: "v1.TokenRequestStatus",
        description: "An issued token.",
        fields: {
          token: { number: 1, schema: string, presence: "always", isRequired: true, description: "The bearer token." },
          expirationTimestamp: {
            number: 2,
            schema: time,
            presence: "always",
            isRequired: true,
            description: "When the token expires.",
          },
        },
      }),
    },
  },
});

export type TokenRequest = Infer<typeof tokenRequestSchema>;
export type BoundObjectReference = Infer<typeof boundObjectReference>;
