import { typeMetaFields } from "../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../machinery/schema/object-meta-schema.ts";
import { atomicList, int64, object, string, time } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";

export const defaultExpirationSeconds = 3600;

const boundObjectReference = object({
  goType: "v1.BoundObjectReference",
  description: "An object that a token is valid as long as.",
  fields: {
    kind: { number: 1, schema: string, description: "The kind: Pod, Secret or Node." },
    apiVersion: { number: 2, schema: string, description: "The API version of the object." },
    name: { number: 3, schema: string, description: "The name of the object." },
    uid: { number: 4, schema: string, description: "The UID of the object; when given, it must be the current one." },
  },
});

/** A request for a token, and its answer. */
export const tokenRequestSchema = object({
  goType: "v1.TokenRequest",
  description: "Asks for a token of a service account.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "What the token is to be.",
      schema: object({
        goType: "v1.TokenRequestSpec",
        description: "What the token is to be.",
        fields: {
          audiences: {
            number: 1,
            schema: atomicList(string),
            presence: "always",
            isRequired: true,
            description:
              "Who the token is meant for. A recipient must find itself in the list or refuse the token; a token for " +
              "several audiences is good for each of them, so they trust each other. Empty: the API server.",
          },
          boundObjectRef: {
            number: 3,
            schema: boundObjectReference,
            presence: "nullable",
            description:
              "The token is valid only while this object exists. The API server checks that; others may not, so a short " +
              "lifetime is what revokes a token quickly.",
          },
          expirationSeconds: {
            number: 4,
            schema: int64,
            presence: "pointer",
            default: defaultExpirationSeconds,
            description:
              "The lifetime that is asked for, in seconds. The issuer may choose another: see the answer's " +
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
        description: "A token that was issued.",
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
