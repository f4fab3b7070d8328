import { issuedCertificateResource } from "../resources.ts";
import { forbiddenField, invalidValue, required } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json-equality.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, bytes, object, string, time } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/columns.ts";
import { humanDuration } from "../../../machinery/registry/human-duration.ts";
import { validateSignerName } from "../signer-name-validation.ts";

const issuedCertificateSchema = object({
  goType: "v1.IssuedCertificate",
  description:
    "The record of a certificate that a signer has issued. It is written by the controllers, never changes, and outlives " +
    "the request by far: it goes some time after the certificate has ended.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "What the certificate says, and who asked for it.",
      schema: object({
        goType: "v1.IssuedCertificateSpec",
        description: "What a certificate says, and who asked for it.",
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
          username: { number: 12, schema: string, description: "The user who asked for it." },
          requestName: { number: 13, schema: string, description: "The name of the CertificateSigningRequest." },
          requestUid: { number: 14, schema: string, description: "The uid of the CertificateSigningRequest." },
          certificate: {
            number: 15,
            schema: bytes,
            description:
              "What csrsigning hands out for the request: PEM, the certificate and then its chain. Absent for the " +
              "certificates of other signers.",
          },
        },
      }),
    },
  },
});

export type IssuedCertificate = Infer<typeof issuedCertificateSchema>;

/**
 * The inventory: one object a certificate, named after the request that it answers or after its fingerprint, so that recording
 * it twice changes nothing.
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
    columns: [
      nameColumn(names),
      { name: "Signer", type: "string", description: "The signer.", cell: ({ spec }) => spec.signerName },
      { name: "Subject", type: "string", description: "Whose it is.", cell: ({ spec }) => spec.subject ?? "" },
      { name: "Requestor", type: "string", description: "Who asked for it.", cell: ({ spec }) => spec.username ?? "" },
      {
        name: "Ends-In",
        type: "string",
        description: "The time until it is no longer valid.",
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
        description: "The request that it answers.",
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
