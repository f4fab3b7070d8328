import { ownSignerName } from "../signer-names.ts";
import { issuedCertificateResource } from "../resources.ts";
import { forbiddenField, invalidValue, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, bytes, object, string, time } from "../../../machinery/schema/schema.ts";
import type { Infer, ScalarSchema } from "../../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { humanDuration } from "../../../machinery/registry/definition/human-duration.ts";
import { validateSignerName } from "../signer-name-validation.ts";
import { allSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { always, omitEmpty, struct } from "../../../machinery/schema/struct.ts";

/** Every record has these times: see `validateSpec`. */
const recordedTime = time as ScalarSchema<string>;

const issuedCertificateSchema = struct(
  "v1.IssuedCertificate",
  "The record of a certificate that a signer has issued. The controllers write it. It never changes, and stays after " +
    "the request is removed. It is deleted some time after the certificate has expired.",
  {
    ...objectFields,
    spec: always(
      2,
      object({
        goType: "v1.IssuedCertificateSpec",
        description: "The contents of a certificate, and who requested it.",
        fields: {
          signerName: always(1, string, "The signer that issued it."),
          serialNumber: always(2, string, "The serial number in hexadecimal digits, without leading zeros."),
          fingerprint: always(3, string, "The SHA-256 of the certificate's DER in hexadecimal digits."),
          issuer: omitEmpty(4, string, "The CA's distinguished name (RFC 4514)."),
          subject: omitEmpty(5, string, "The distinguished name (RFC 4514)."),
          dnsNames: omitEmpty(6, atomicList(string), "Subject alternative names: DNS names."),
          ipAddresses: omitEmpty(7, atomicList(string), "Subject alternative names: addresses."),
          emailAddresses: omitEmpty(8, atomicList(string), "Subject alternative names: e-mail."),
          uris: omitEmpty(9, atomicList(string), "Subject alternative names: URIs."),
          notBefore: always(10, recordedTime, "The start of its validity."),
          notAfter: always(11, recordedTime, "The end of its validity."),
          username: omitEmpty(12, string, "The user who requested it."),
          requestName: omitEmpty(13, string, "The name of the CertificateSigningRequest."),
          requestUid: omitEmpty(14, string, "The uid of the CertificateSigningRequest."),
          certificate: omitEmpty(
            15,
            bytes,
            "The issued PEM: the certificate, then its chain. Absent for certificates of other signers.",
          ),
        },
      }),
      "The contents of the certificate, and who requested it.",
      { isRequired: true },
    ),
  },
);

export type IssuedCertificate = Infer<typeof issuedCertificateSchema>;

/**
 * The inventory: one object for each certificate. Its name derives from the request or from the fingerprint, so
 * recording a certificate twice changes nothing.
 */
export const issuedCertificates = (names: Names): ResourceDefinition<IssuedCertificate> =>
  defineResource({
    ...issuedCertificateResource(names),
    shortNames: ["issued"],
    schema: issuedCertificateSchema,
    validateName: validateDnsSubdomainName,
    quotaUserOf: ({ spec }) => spec.username ?? "",
    validate: ({ spec }) => validateSpec(spec),
    validateUpdate: ({ spec }, { previous }) =>
      isSemanticallyEqual(spec, previous.spec)
        ? []
        : [forbiddenField("spec", "a record of a certificate cannot be changed")],
    selectableFields: {
      "spec.signerName": ({ spec }) => spec.signerName,
      "spec.username": ({ spec }) => spec.username ?? "",
      "spec.requestUid": ({ spec }) => spec.requestUid ?? "",
    },
    comparedAs: (field, value) => (field === "spec.signerName" ? ownSignerName(names, value) : value),
    columns: [
      nameColumn(names),
      { name: "Signer", description: "The signer.", cell: ({ spec }) => spec.signerName },
      {
        name: "Subject",
        description: "The subject of the certificate.",
        cell: ({ spec }) => spec.subject ?? "",
      },
      {
        name: "Requestor",
        description: "The user who requested it.",
        cell: ({ spec }) => spec.username ?? "",
      },
      {
        name: "Ends-In",
        description: "The time until it expires.",
        cell: ({ spec }, { now }) => timeLeft(Date.parse(spec.notAfter) - now),
      },
      ageColumn(names),
      {
        name: "Names",
        isWide: true,
        description: "The subject alternative names.",
        cell: ({ spec }) => allSubjectAltNames(spec).join(",") || "<none>",
      },
      {
        name: "Serial",
        isWide: true,
        description: "The serial number.",
        cell: ({ spec }) => spec.serialNumber,
      },
      {
        name: "Request",
        isWide: true,
        description: "The certificate request.",
        cell: ({ spec }) => spec.requestName ?? "<none>",
      },
    ],
  });

type Spec = IssuedCertificate["spec"];

const timeLeft = (milliseconds: number): string => (milliseconds < 0 ? "ended" : humanDuration(milliseconds));

function validateSpec({ signerName, serialNumber, fingerprint, notBefore, notAfter }: Spec): FieldError[] {
  const hexadecimal = (
    value: string,
    { field, pattern }: { readonly field: string; readonly pattern: RegExp },
  ): FieldError[] => {
    if (value === "") return [required(field, "")];
    return pattern.test(value)
      ? []
      : [invalidValue(field, { value, detail: "must be hexadecimal digits in lower case" })];
  };
  return [
    ...validateSignerName(signerName, "spec.signerName"),
    ...hexadecimal(serialNumber, { field: "spec.serialNumber", pattern: /^[0-9a-f]{1,80}$/ }),
    ...hexadecimal(fingerprint, { field: "spec.fingerprint", pattern: /^[0-9a-f]{64}$/ }),
    ...(notBefore ? [] : [required("spec.notBefore", "")]),
    ...(notAfter ? [] : [required("spec.notAfter", "")]),
  ];
}
