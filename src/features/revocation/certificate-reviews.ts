import { badRequest } from "../../machinery/api/api-error.ts";
import type { Names } from "../../machinery/api/names.ts";
import { defineReview } from "../../machinery/registry/definition/review-definition.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { boolean, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { always, omitEmpty, required, struct } from "../../machinery/schema/struct.ts";
import { parseCertificate } from "../../pki/certificates/certificate.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { decodeFirstPemBlock } from "../../pki/pem.ts";
import { PkiError } from "../../pki/pki-error.ts";

const certificateReviewSchema = struct(
  "v1.CertificateReview",
  "Asks whether a certificate is revoked. The answer says nothing about its issuer and its expiration.",
  {
    ...objectFields,
    spec: required(
      2,
      object({
        goType: "v1.CertificateReviewSpec",
        description: "The certificate.",
        fields: { certificate: omitEmpty(1, string, "PEM. Of several blocks, the first.", { isRequired: true }) },
      }),
      "The certificate.",
    ),
    status: always(
      3,
      object({
        goType: "v1.CertificateReviewStatus",
        description: "What the server knows of the certificate.",
        fields: { revoked: required(1, boolean, "Whether the certificate is revoked.") },
      }),
      "The result. Set by the server.",
    ),
  },
);

export type CertificateReview = Infer<typeof certificateReviewSchema>;

/** Reviews certificates. A revoked certificate is a normal result. Only a text that is not a certificate is an error. */
export const certificateReviews = (
  names: Names,
  { isRevoked }: { readonly isRevoked: (certificate: Certificate) => boolean },
): ReviewDefinition<CertificateReview> =>
  defineReview({
    group: names.group("signet"),
    version: "v1",
    kind: "CertificateReview",
    scope: "Cluster",
    schema: certificateReviewSchema,
    create: async (review) => ({
      object: { ...review, status: { revoked: isRevoked(certificateIn(review.spec.certificate ?? "")) } },
    }),
  });

function certificateIn(pem: string): Certificate {
  const block = decodeFirstPemBlock(pem);
  if (block?.type !== "CERTIFICATE") throw badRequest("spec.certificate must begin with a certificate in PEM");
  try {
    return parseCertificate(block.bytes);
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw badRequest(`spec.certificate: ${error.message}`);
  }
}
