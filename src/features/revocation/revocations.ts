import {
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import { validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../machinery/api/names.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { object, string, time } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { isFormattedDistinguishedName } from "../../pki/names/distinguished-name.ts";
import { revocationReasons } from "../../pki/revocation/revocation-reason.ts";
import { revocationResource } from "./resources.ts";
import { always, omitEmpty, pointer, struct } from "../../machinery/schema/struct.ts";

const issuedBefore = "Only those that were issued before this time. At most five minutes in the future.";

const tokenSchema = struct(
  "v1.RevokedToken",
  "One token by its id; or all tokens of a service account, or of every account, perhaps up to a time.",
  {
    id: omitEmpty(1, string, "The `jti` claim of one token. Excludes the other fields."),
    serviceAccount: pointer(
      2,
      object({
        goType: "v1.RevokedServiceAccount",
        description: "A service account.",
        fields: {
          namespace: always(1, string, "The account's namespace."),
          name: always(2, string, "The account's name."),
        },
      }),
      "The account whose tokens are revoked. Absent: the tokens of every account; then give issuedBefore.",
    ),
    issuedBefore: pointer(
      3,
      time,
      `${issuedBefore} Tokens in Secrets do not say when they were issued: they are revoked in any case.`,
    ),
  },
);

const certificateSchema = struct(
  "v1.RevokedCertificate",
  "One certificate, by its fingerprint or by its issuer and serial number; or all of a subject.",
  {
    fingerprint: omitEmpty(1, string, "The SHA-256 of the certificate's DER in lower-case hexadecimal digits."),
    issuer: omitEmpty(2, string, "The CA's distinguished name (RFC 4514), with serialNumber."),
    serialNumber: omitEmpty(3, string, "The serial number in lower-case hexadecimal digits, without leading zeros."),
    subject: omitEmpty(
      4,
      string,
      "The whole distinguished name (RFC 4514), as IssuedCertificates show it. There are no patterns.",
    ),
    issuedBefore: pointer(
      5,
      time,
      `${issuedBefore} With subject only. Compared with the start of the certificate's validity.`,
    ),
  },
);

const revocationSchema = struct(
  "v1.Revocation",
  "Ends credentials before they expire: tokens of service accounts, and client certificates. The server refuses them from the " +
    "next request on, and ends their watches. Deleting the revocation makes them good again.",
  {
    ...objectFields,
    spec: always(
      2,
      object({
        goType: "v1.RevocationSpec",
        description: "What is revoked: either tokens or certificates.",
        fields: {
          token: pointer(1, tokenSchema, "The tokens that are revoked."),
          certificate: pointer(2, certificateSchema, "The certificates that are revoked."),
          reason: omitEmpty(
            3,
            string,
            `Why (RFC 5280 section 5.3.1): ${revocationReasons.join(", ")}. Default: unspecified.`,
          ),
          expirationTimestamp: pointer(
            4,
            time,
            "When the last of the credentials expires: then the revocation is deleted. Absent: it stays until a user " +
              "deletes it, or the service account is gone.",
          ),
        },
      }),
      "What is revoked. It cannot be changed.",
      { isRequired: true },
    ),
  },
);

export type Revocation = Infer<typeof revocationSchema>;
type Spec = Revocation["spec"];

export const revocations = (names: Names): ResourceDefinition<Revocation> =>
  defineResource({
    ...revocationResource(names),
    schema: revocationSchema,
    validateName: validateDnsSubdomainName,
    validate: ({ spec }, { now }) => validateSpec(spec, now),
    validateUpdate: ({ spec }, { previous }) =>
      isSemanticallyEqual(spec, previous.spec)
        ? []
        : [forbiddenField("spec", "a revocation cannot be changed: delete it and create another")],
    columns: [
      nameColumn(names),
      {
        name: "Revoked",
        description: "What is revoked.",
        cell: ({ spec }) => revokedText(spec),
      },
      { name: "Reason", description: "Why.", cell: ({ spec }) => spec.reason ?? "unspecified" },
      {
        name: "Until",
        description: "When the last of the credentials expires.",
        cell: ({ spec }) => spec.expirationTimestamp ?? "<none>",
      },
      ageColumn(names),
    ],
  });

/** A description of the revoked credentials, for people. */
export function revokedText({ token, certificate }: Spec): string {
  const before = (time: string | undefined): string => (time === undefined ? "" : ` issued before ${time}`);
  if (token?.id !== undefined) return `token ${token.id}`;
  if (token !== undefined) {
    const { serviceAccount: account } = token;
    const whose = account === undefined ? "all tokens" : `tokens of ${account.namespace}/${account.name}`;
    return `${whose}${before(token.issuedBefore)}`;
  }
  const { fingerprint, serialNumber, issuer, subject = "", issuedBefore: until } = certificate ?? {};
  if (fingerprint !== undefined) return `certificate SHA-256 ${fingerprint}`;
  if (serialNumber !== undefined) return `certificate ${serialNumber} of ${issuer ?? ""}`;
  return `certificates of ${subject}${before(until)}`;
}

/**
 * How far `issuedBefore` may be in the future. The clocks of replicas differ, but a later time would refuse tokens that are not issued yet.
 */
const longestLeadMilliseconds = 5 * 60_000;
const longestTextBytes = 1024;

function validateSpec({ token, certificate, reason }: Spec, now: number): FieldError[] {
  if (token !== undefined && certificate !== undefined) {
    return [forbiddenField("spec.certificate", "give either token or certificate")];
  }
  const faults = token === undefined ? certificateFaults(certificate, now) : tokenFaults(token, now);
  return reason === undefined || revocationReasons.includes(reason)
    ? faults
    : [...faults, notSupported("spec.reason", { value: reason, supported: revocationReasons })];
}

function tokenFaults({ id, serviceAccount, issuedBefore: before }: NonNullable<Spec["token"]>, now: number) {
  const field = "spec.token";
  if (id !== undefined) {
    const others = serviceAccount !== undefined || before !== undefined;
    return others
      ? [forbiddenField(`${field}.id`, "an id is of one token: give nothing else")]
      : text(`${field}.id`, id);
  }
  if (serviceAccount === undefined) {
    return before === undefined
      ? [required(field, "give an id, a serviceAccount, or issuedBefore")]
      : timeFaults(before, { field: `${field}.issuedBefore`, now });
  }
  return [
    ...text(`${field}.serviceAccount.namespace`, serviceAccount.namespace),
    ...text(`${field}.serviceAccount.name`, serviceAccount.name),
    ...timeFaults(before, { field: `${field}.issuedBefore`, now }),
  ];
}

function certificateFaults(given: Spec["certificate"], now: number): FieldError[] {
  const { fingerprint, issuer, serialNumber, subject, issuedBefore: before } = given ?? {};
  const field = "spec.certificate";
  const ways = [fingerprint, issuer ?? serialNumber, subject].filter((way) => way !== undefined);
  if (given === undefined) return [required("spec", "give a token or a certificate")];
  if (ways.length !== 1) {
    return [
      invalidValue(field, {
        value: ways.length,
        detail: "give a fingerprint, or issuer and serialNumber, or a subject: one of them",
      }),
    ];
  }
  if (before !== undefined && subject === undefined) {
    return [forbiddenField(`${field}.issuedBefore`, "only a subject can have several certificates")];
  }
  const digits = (
    value: string,
    { name, pattern }: { readonly name: string; readonly pattern: RegExp },
  ): FieldError[] =>
    pattern.test(value)
      ? []
      : [
          invalidValue(`${field}.${name}`, {
            value,
            detail: "must be hexadecimal digits in lower case, without leading zeros",
          }),
        ];
  const isSerial = issuer !== undefined || serialNumber !== undefined;
  return [
    ...(fingerprint === undefined ? [] : digits(fingerprint, { name: "fingerprint", pattern: /^[0-9a-f]{64}$/ })),
    ...(isSerial ? distinguishedName(`${field}.issuer`, issuer ?? "") : []),
    ...(isSerial
      ? digits(serialNumber ?? "", { name: "serialNumber", pattern: /^(?:0|[1-9a-f][0-9a-f]{0,79})$/ })
      : []),
    ...(subject === undefined ? [] : distinguishedName(`${field}.subject`, subject)),
    ...timeFaults(before, { field: `${field}.issuedBefore`, now }),
  ];
}

function text(field: string, value: string): FieldError[] {
  if (value === "") return [required(field, "")];
  return Buffer.byteLength(value) > longestTextBytes ? [tooLong(field, longestTextBytes)] : [];
}

/** Returns the faults of a distinguished name. It must be in the normal form, because names are compared as texts. */
function distinguishedName(field: string, value: string): FieldError[] {
  const faults = text(field, value);
  return faults.length > 0 || isFormattedDistinguishedName(value)
    ? faults
    : [
        invalidValue(field, {
          value,
          detail: "must be a distinguished name as IssuedCertificates show it, such as CN=ann,O=ops",
        }),
      ];
}

const timeFaults = (
  time: string | undefined,
  { field, now }: { readonly field: string; readonly now: number },
): FieldError[] =>
  time !== undefined && Date.parse(time) > now + longestLeadMilliseconds
    ? [invalidValue(field, { value: time, detail: "must not be more than five minutes in the future" })]
    : [];
