import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import {
  atomicList,
  bytes,
  int32,
  mapList,
  mapOf,
  named,
  namedStringList,
  object,
  string,
  time,
} from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";

/** Every key usage that a request may ask for, as upstream's refusals list them: in alphabetical order. */
export const keyUsages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
] as const;

const condition = object({
  goType: "v1.CertificateSigningRequestCondition",
  description: "A decision on a request, or another fact about it.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.RequestConditionType"),
      presence: "always",
      isRequired: true,
      description:
        "Approved and Denied are the decision on the request. Failed means that the signer could not issue. Other types are allowed.",
    },
    status: {
      number: 6,
      schema: named(string, "v1.ConditionStatus"),
      presence: "always",
      isRequired: true,
      description: "True, False or Unknown; Approved, Denied and Failed can only be True.",
    },
    reason: { number: 2, schema: string, description: "The reason as one CamelCase word, for programs." },
    message: { number: 3, schema: string, description: "The reason as a sentence, for people." },
    lastUpdateTime: {
      number: 4,
      schema: time,
      isServerSet: true,
      description: "When the condition was last written. Default: the current time.",
    },
    lastTransitionTime: {
      number: 5,
      schema: time,
      isServerSet: true,
      description: "When the status last changed. Default: the previous value, or the current time for a new status.",
    },
  },
});

const spec = object({
  goType: "v1.CertificateSigningRequestSpec",
  description: "The requested certificate and the requester. It cannot be changed.",
  fields: {
    request: {
      number: 1,
      schema: bytes,
      // The answer distinguishes a request that is missing from one that is empty.
      presence: "nullable",
      isRequired: true,
      description: "A PKCS #10 request in a PEM block of type CERTIFICATE REQUEST, in base64.",
    },
    signerName: {
      number: 7,
      schema: string,
      presence: "always",
      isRequired: true,
      description:
        "The requested signer, such as `example.com/signer`. Lists and watches can select one with the " +
        "field selector `spec.signerName`.",
    },
    expirationSeconds: {
      number: 8,
      schema: int32,
      presence: "pointer",
      description:
        "The requested lifetime of the certificate in seconds, at least 600. Signers may choose another: see the certificate's notAfter.",
    },
    usages: {
      number: 5,
      schema: atomicList({ ...named(string, "v1.KeyUsage"), enum: keyUsages }),
      description:
        "The requested usages of the certificate's key. For a TLS client: digital signature, key encipherment, client auth. " +
        "For a TLS server: key encipherment, digital signature, server auth.",
    },
    username: { number: 2, schema: string, description: "The user name of the requester. Set by the server." },
    uid: { number: 3, schema: string, description: "The uid of the requester. Set by the server." },
    groups: {
      number: 4,
      schema: atomicList(string),
      description: "The groups of the requester. Set by the server.",
    },
    extra: {
      number: 6,
      schema: mapOf(namedStringList("v1.ExtraValue")),
      description: "Extra attributes of the requester. Set by the server.",
    },
  },
});

const status = object({
  goType: "v1.CertificateSigningRequestStatus",
  description: "The decision and the issued certificate.",
  fields: {
    conditions: {
      number: 1,
      schema: mapList(condition, "type"),
      description:
        "Approved and Denied are set through `approval`, Failed through `status`. None of the three can be removed.",
    },
    certificate: {
      number: 2,
      schema: bytes,
      description:
        "The certificate, then the intermediates to present with it: PEM blocks of type CERTIFICATE without headers, in base64. " +
        "Set by the signer through `status`, once.",
    },
  },
});

export const certificateSigningRequestSchema = object({
  goType: "v1.CertificateSigningRequest",
  description: "Requests an X.509 certificate from a signer. After approval, the signer issues it.",
  fields: {
    ...objectFields,
    spec: {
      number: 2,
      schema: spec,
      presence: "always",
      isRequired: true,
      description: "The requested certificate and the requester. It cannot be changed.",
    },
    status: { number: 3, schema: status, presence: "always", description: "The decision and the issued certificate." },
  },
});

export type CertificateSigningRequest = Infer<typeof certificateSigningRequestSchema>;
export type CertificateSigningRequestCondition = Infer<typeof condition>;
