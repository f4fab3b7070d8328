import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, bytes, int32, mapList, named, oneOf, string, time } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { always, nullable, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { userExtra } from "../../../machinery/schema/user-info-schema.ts";

/** Every key usage that a request may ask for, in alphabetical order, as upstream's errors list them. */
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

const condition = struct(
  "v1.CertificateSigningRequestCondition",
  "A decision on a request, or another fact about it.",
  {
    type: required(
      1,
      named(string, "v1.RequestConditionType"),
      "Approved and Denied are the decision on the request. Failed means that the signer could not issue. Other types are allowed.",
    ),
    status: required(
      6,
      named(string, "v1.ConditionStatus"),
      "True, False or Unknown; Approved, Denied and Failed can only be True.",
    ),
    reason: omitEmpty(2, string, "The reason as one CamelCase word, for programs."),
    message: omitEmpty(3, string, "The reason as a sentence, for people."),
    lastUpdateTime: omitEmpty(4, time, "When the condition was last written. Default: the current time.", {
      isServerSet: true,
    }),
    lastTransitionTime: omitEmpty(
      5,
      time,
      "When the status last changed. Default: the previous value, or the current time for a new status.",
      { isServerSet: true },
    ),
  },
);

const spec = struct(
  "v1.CertificateSigningRequestSpec",
  "The requested certificate and the requester. It cannot be changed.",
  {
    // The answer distinguishes a missing request from an empty one.
    request: nullable(1, bytes, "A PKCS #10 request in a PEM block of type CERTIFICATE REQUEST, in base64.", {
      isRequired: true,
    }),
    signerName: required(
      7,
      string,
      "The requested signer, such as `example.com/signer`. Lists and watches can select one with the " +
        "field selector `spec.signerName`.",
    ),
    expirationSeconds: pointer(
      8,
      int32,
      "The requested lifetime of the certificate in seconds, at least 600. Signers may choose another: see the certificate's notAfter.",
    ),
    usages: omitEmpty(
      5,
      atomicList(named(oneOf(keyUsages), "v1.KeyUsage")),
      "The requested usages of the certificate's key. For a TLS client: digital signature, key encipherment, client auth. " +
        `For a TLS server: key encipherment, digital signature, server auth. All that there are: ${keyUsages.join(", ")}.`,
    ),
    username: omitEmpty(2, string, "The user name of the requester. Set by the server."),
    uid: omitEmpty(3, string, "The uid of the requester. Set by the server."),
    groups: omitEmpty(4, atomicList(string), "The groups of the requester. Set by the server."),
    extra: omitEmpty(6, userExtra, "Extra attributes of the requester. Set by the server."),
  },
);

const status = struct("v1.CertificateSigningRequestStatus", "The decision and the issued certificate.", {
  conditions: omitEmpty(
    1,
    mapList(condition, "type"),
    "At most one of each type, and never both Approved and Denied. These two are set through `approval`, Failed through " +
      "`status`. None of the three can be removed.",
  ),
  certificate: omitEmpty(
    2,
    bytes,
    "The certificate, then the intermediates to present with it: PEM blocks of type CERTIFICATE without headers, in base64. " +
      "There may be text before and after the blocks. Set by the signer through `status`, once; never for a denied request.",
    { distinguishesEmpty: true },
  ),
});

export const certificateSigningRequestSchema = struct(
  "v1.CertificateSigningRequest",
  "Requests an X.509 certificate from a signer. After approval, the signer issues it.",
  {
    ...objectFields,
    spec: required(2, spec, "The requested certificate and the requester. It cannot be changed."),
    status: always(3, status, "The decision and the issued certificate."),
  },
);

export type CertificateSigningRequest = Infer<typeof certificateSigningRequestSchema>;
export type CertificateSigningRequestCondition = Infer<typeof condition>;
