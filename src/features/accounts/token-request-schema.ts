import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { atomicList, int64, named, object, string, time } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { always, nullable, omitEmpty, pointer, required, struct } from "../../machinery/schema/struct.ts";

export const defaultExpirationSeconds = 3600;

const boundObjectReference = struct(
  "v1.BoundObjectReference",
  "An object that a token is bound to. The token is valid only while the object exists.",
  {
    kind: omitEmpty(1, string, "The kind: Pod, Secret or Node."),
    apiVersion: omitEmpty(2, string, "The API version of the object."),
    name: omitEmpty(3, string, "The name of the object."),
    uid: omitEmpty(4, named(string, "types.UID"), "The UID of the object; when given, it must be the current one."),
  },
);

/** A request for a token. The answer also has the issued token. */
export const tokenRequestSchema = struct("v1.TokenRequest", "Requests a token for a service account.", {
  ...objectFields,
  spec: required(
    2,
    object({
      goType: "v1.TokenRequestSpec",
      description: "The properties of the requested token.",
      fields: {
        audiences: required(
          1,
          atomicList(string),
          "The audiences of the token. A recipient that is not in the list must refuse the token. A token for " +
            "several audiences is valid for each of them, so they must trust each other. Empty: the API server.",
        ),
        boundObjectRef: nullable(
          3,
          boundObjectReference,
          "The token is valid only while this object exists. The API server checks this. Other recipients may not: " +
            "for them, use a short lifetime.",
        ),
        expirationSeconds: pointer(
          4,
          int64,
          "The requested lifetime in seconds, from 600 to 4294967296. The issuer may choose another: see the status's " +
            "`expirationTimestamp`.",
          { default: defaultExpirationSeconds },
        ),
      },
    }),
    "The properties of the requested token.",
  ),
  status: always(
    3,
    object({
      goType: "v1.TokenRequestStatus",
      description: "An issued token.",
      fields: {
        token: required(1, string, "The bearer token."),
        expirationTimestamp: required(2, time, "When the token expires."),
      },
    }),
    "The token. Set by the server.",
  ),
});

export type TokenRequest = Infer<typeof tokenRequestSchema>;
export type BoundObjectReference = Infer<typeof boundObjectReference>;
