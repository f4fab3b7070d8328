import type { CertificateReview } from "../features/revocation/resources.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { ignoreCodes } from "../machinery/client/ignore-codes.ts";
import { postReview } from "../machinery/client/post-review.ts";
import type { Certificate } from "../pki/certificate.ts";
import { encodeCertificatesPem } from "../pki/certificates-pem.ts";

interface RevocationOptions {
  readonly names: Names;
  readonly client: ApiClient;
  readonly certificate: Certificate;
}

/** Whether the server says that a certificate is revoked. One that knows no such question says nothing. Rejects when there is no answer. */
export async function readRevocation({ names, client, certificate }: RevocationOptions): Promise<boolean> {
  const review = postReview<Partial<CertificateReview>>(client, {
    group: names.group("signet"),
    kind: "CertificateReview",
    spec: { certificate: encodeCertificatesPem([certificate]) },
  });
  return (await ignoreCodes([403, 404], review))?.status?.revoked === true;
}
