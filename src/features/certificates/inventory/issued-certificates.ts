import { ownSignerName } from "../signer-names.ts";
import { issuedCertificateResource } from "../resources.ts";
import { forbiddenField, invalidValue, required } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json-equality.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, bytes, object, string, time } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/columns.ts";
import { humanDuration } from "../../../machinery/registry/human-duration.ts";
import { validateSignerName } from "../signer-name-validation.ts";

const issuedCertificateSchema = object({
  goType: "v1.IssuedCertificate",
  description:
    "The record of a certificate that a signer has issued. The controllers write it. It never changes, and stays after " +
    "the request is removed. It is deleted some time after the certificate has expired.",
  fields: {
    ...objectFields,
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "The contents of the certificate, and who requested it.",
      schema: object({
        goType: "v1.IssuedCertificateSpec",
        description: "The contents of a certificate, and who requested it.",
        fields: {
          signerName: { number: 1, schema: string, presence: "always", description: "The signer that issued it." },
          serialNumber: {
            number: 2,
            schema: string,
            presence: "always",
            description: "The serial number in hexadecimal digits, without leading zeros.",
          },
          fingerprint: {
            number: 3,
            schema: string,
            presence: "always",
            description: "The SHA-256 of the certificate's DER in hexadecimal digits.",
          },
          issuer: { number: 4, schema: string, description: "The CA's distinguished name (RFC 4514)." },
          subject: { number: 5, schema: string, description: "The distinguished name (RFC 4514)." },
          dnsNames: { number: 6, schema: atomicList(string), description: "Subject alternative names: DNS names." },
          ipAddresses: { number: 7, schema: atomicList(string), description: "Subject alternative names: addresses." },
          emailAddresses: { number: 8, schema: atomicList(string), description: "Subject alternative names: e-mail." },
          uris: { number: 9, schema: atomicList(string), description: "Subject alternative names: URIs." },
          notBefore: { number: 10, schema: time, presence: "always", description: "The start of its validity." },
          notAfter: { number: 11, schema: time, presence: "always", description: "The end of its validity." },
          username: { number: 12, schema: string, description: "The user who requested it." },
          requestName: { number: 13, schema: string, description: "The name of the CertificateSigningRequest." },
          requestUid: { number: 14, schema: string, description: "The uid of the CertificateSigningRequest." },
          certificate: {
            number: 15,
            schema: bytes,
            description: "The issued PEM: the certificate, then its chain. Absent for certificates of other signers.",
          },
        },
      }),
    },
  },
});

export type IssuedCertificate = Infer<typeof issuedCertificateSchema>;

/**
 * The inventory: one object for each certificate. Its name derives from the request or from the fingerprint, so
 * recording a certificate twice changes nothing.
 */
export const issuedCertificates = (names: Names): ResourceDefinition<IssuedCertificate> =>
  defineResource({
    ...issuedCertificateResource(names),
    singular: "issuedcertificate",
    shortNames: ["issued"],
    schema: issuedCertificateSchema,
    validateName: (name, { isPrefix }) => validateDnsSubdomainName(name, { isPrefix }),
    validate: ({ spec }) => validateSpec(spec),
    validateUpdate: ({ spec }, previous) =>
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
      { name: "Signer", type: "string", description: "The signer.", cell: ({ spec }) => spec.signerName },
      {
        name: "Subject",
        type: "string",
        description: "The subject of the certificate.",
        cell: ({ spec }) => spec.subject ?? "",
      },
      {
        name: "Requestor",
        type: "string",
        description: "The user who requested it.",
        cell: ({ spec }) => spec.username ?? "",
      },
      {
        name: "Ends-In",
        type: "string",
        description: "The time until it expires.",
        cell: ({ spec }, { now }) => timeLeft(Date.parse(spec.notAfter) - now),
      },
      ageColumn(names),
      {
        name: "Names",
        type: "string",
        priority: 1,
        description: "The subject alternative names.",
        cell: ({ spec }) => subjectAltNamesOf(spec).join(",") || "<none>",
      },
      {
        name: "Serial",
        type: "string",
        priority: 1,
        description: "The serial number.",
        cell: ({ spec }) => spec.serialNumber,
      },
      {
        name: "Request",
        type: "string",
        priority: 1,
        description: "The certificate request.",
        cell: ({ spec }) => spec.requestName ?? "<none>",
      },
    ],
  });

type Spec = IssuedCertificate["spec"];

const timeLeft = (milliseconds: number): string => (milliseconds < 0 ? "ended" : humanDuration(milliseconds));

const subjectAltNamesOf = ({ dnsNames = [], ipAddresses = [], emailAddresses = [], uris = [] }: Spec): string[] => [
  ...dnsNames,
  ...ipAddresses,
  ...emailAddresses,
  ...uris,
];

function validateSpec({ signerName, serialNumber, fingerprint, notBefore, notAfter }: Spec): FieldError[] {
  const hexadecimal = (field: string, value: string, pattern: RegExp): FieldError[] => {
    if (value === "") return [required(field, "")];
    return pattern.test(value) ? [] : [invalidValue(field, value, "must be hexadecimal digits in lower case")];
  };
  return [
    ...validateSignerName(signerName, "spec.signerName"),
    ...hexadecimal("spec.serialNumber", serialNumber, /^[0-9a-f]{1,80}$/),
    ...hexadecimal("spec.fingerprint", fingerprint, /^[0-9a-f]{64}$/),
    ...(notBefore ? [] : [required("spec.notBefore", "")]),
    ...(notAfter ? [] : [required("spec.notAfter", "")]),
  ];
}
